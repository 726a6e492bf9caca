// The global data share: its memory, and the resources that ds_gws_* name.
//
// Both belong to the device (device/dispatch/global_share.h). Callable from any thread;
// device/dispatch/gws.cpp.
#pragma once

#include <cstdint>

namespace morgana::device {

struct Wave;

inline constexpr uint32_t kGwsResources = 64;
inline constexpr uint32_t kGdsBytes = 65536;

namespace service {

void gws_init(Wave& wave, uint32_t resource, uint32_t value);
// False: the wave has to wait; it asks again.
bool gws_barrier(Wave& wave, uint32_t resource, uint32_t value);
bool gws_sema_p(Wave& wave, uint32_t resource);
void gws_sema_v(Wave& wave, uint32_t resource, uint32_t count);
void gws_sema_release_all(Wave& wave, uint32_t resource);

// The device's kGdsBytes, nobody else's until gds_leave.
uint8_t* gds_enter(Wave& wave);
void gds_leave(Wave& wave);

}  // namespace service
}  // namespace morgana::device
