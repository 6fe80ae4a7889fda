/* Symbol: the name by which the linker knows a function of base that libragno shows.
 *
 * What: a program that links libragno may have a buffer_append or an error_set of its own. So the
 * functions of base that are part of the library's interface are ragno_buffer_append and
 * ragno_error_set in object files, and buffer_append and error_set in sources. The names of the
 * other rooms (page_db_*, drum_*) are as special as a prefix.
 * Invariants: src/libragno.map shows ragno_*; no symbol of base is shown under its short name.
 * tests/integration/install.py compares. */
#ifndef BASE_CORE_SYMBOL_H
#define BASE_CORE_SYMBOL_H

/* Behind the parameters of a declaration, before its attributes. */
#define RAGNO_SYMBOL(name) __asm__("ragno_" #name)

#endif
