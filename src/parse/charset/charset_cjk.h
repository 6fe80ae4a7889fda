/* The decoders of the multi-byte encodings of East Asia.
 *
 * What: iconv decodes the characters; the rules of the WHATWG Encoding standard for what is broken,
 * and where its tables differ from those of the C library, are ours.
 * Threads: any; each call opens its own iconv descriptor.
 * Errors: RESULT_NOT_FOUND: not one of these encodings. RESULT_INVALID: iconv lacks it.
 * Source: WHATWG Encoding standard, GBK to EUC-KR. */
#ifndef PARSE_CHARSET_CHARSET_CJK_H
#define PARSE_CHARSET_CHARSET_CJK_H

#include "parse/charset/charset_sink.h"

Result charset_decode_cjk(const char *encoding, const unsigned char *body, size_t length,
                          CharsetSink *sink);

/* Where the standard's Big5 differs from glibc's, for encoders: the code of a point that iconv
 * lacks, and what a code that iconv has otherwise stands for. 0: no difference is known. */
unsigned charset_big5_code(uint32_t point);
uint32_t charset_big5_point(unsigned code);

#endif
