// The clock of the host's processor, for queries of a device's clock. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace morgana::runtime {

// The highest clock of the first processor in MHz, as the system tells it; 0: it does not.
uint32_t host_clock_mhz();

// The highest clock in the text of /proc/cpuinfo; 0: it names none.
uint32_t clock_mhz_in(std::string_view cpuinfo);

}  // namespace morgana::runtime
