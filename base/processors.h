// How many processors the process may use. Callable from any thread.
#pragma once

namespace morgana {

// Asked anew at each call; at least 1.
int available_processors();

}  // namespace morgana
