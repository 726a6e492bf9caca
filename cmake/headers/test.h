// The same for tests.
#pragma once

#include <gtest/gtest.h>

#include "cmake/headers/standard.h"
