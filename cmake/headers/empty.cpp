// Only the header that is compiled in advance with it counts.
