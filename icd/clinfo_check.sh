#!/bin/sh
# clinfo must find exactly one platform, Morgana, and print no line that speaks of an error.
out=$("$1" 2>&1) || { echo "$out"; echo "clinfo failed"; exit 1; }
echo "$out" | grep -q "Number of platforms *1" || { echo "$out" | head -5; echo "expected one platform"; exit 1; }
echo "$out" | grep -q "Platform Name *Morgana" || { echo "$out" | head -5; echo "Morgana not found"; exit 1; }
bad=$(echo "$out" | grep -v "Error Correction" | grep -iE "error|<get|<print|CL_INVALID|-[0-9]+>") && { echo "$bad"; exit 1; }
exit 0
