/* Numbers in decimal, written where a page or a log line is put together: faster than snprintf. */
#ifndef TESTS_WEB_DIGITS_H
#define TESTS_WEB_DIGITS_H

#include <stddef.h>
#include <stdint.h>

/* Writes up to 20 digits, no NUL; returns the byte behind them. */
static inline char *digits_put(char *to, uint64_t number)
{
    char digits[24];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (n > 0) {
        *to++ = digits[--n];
    }
    return to;
}

#endif
