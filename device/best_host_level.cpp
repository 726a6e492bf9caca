// Run by CMake for MORGANA_LEVELS=host: its exit code is the level's number.
#include "device/best_host_level.h"

int main() { return static_cast<int>(morgana::device::best_host_level()); }
