// Global wave sync: the resources that ds_gws_* name, and what the handlers ask of them.
//
// The resources belong to the device and outlive dispatches (a kernel of its own initialises them). Callable
// from any thread; device/dispatch/gws.cpp.
#pragma once

#include <cstdint>

namespace morgana::device {

struct Wave;

inline constexpr uint32_t kGwsResources = 64;

namespace service {

void gws_init(Wave& wave, uint32_t resource, uint32_t value);
// False: the wave has to wait; it asks again.
bool gws_barrier(Wave& wave, uint32_t resource, uint32_t value);
bool gws_sema_p(Wave& wave, uint32_t resource);
void gws_sema_v(Wave& wave, uint32_t resource, uint32_t count);
void gws_sema_release_all(Wave& wave, uint32_t resource);

}  // namespace service
}  // namespace morgana::device
