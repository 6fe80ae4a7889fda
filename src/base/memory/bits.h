/* Bits: one for each number from 0 on.
 *
 * What: bit i is bit i % 8 of byte i / 8, in bytes of the caller, who zeroes them.
 *
 * Owns: nothing.
 * Threads: an array belongs to its caller.
 * Errors: none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool bits_has(const uint8_t *bits, uint64_t i)
{
    return (bits[i / 8] >> i % 8 & 1) != 0;
}

static inline void bits_set(uint8_t *bits, uint64_t i)
{
    bits[i / 8] |= (uint8_t)(1u << i % 8);
}
