/* Directories that come back from the past: a backup that takes the place of a directory loses no URL
 * (src/cluster/desk/greet_desk.h, src/cluster/link/kept.h).
 *
 * One agent finds URLs for the other and keeps each in its outbox until the other has answered that it has committed
 * it. The other may be killed at any moment, a copy of its directory may be made, and put back at any kill. Messages may
 * be late and repeated; a message that is lost is one that is late for ever.
 * Shown: whenever the finder has nothing left to send, and has compared itself with the process that runs, that process
 * has committed all URLs. Invariants, as in greet_desk.h:
 *  1. A block is taken in only from a process that has greeted back.
 *  2. An answer to a block counts only if it comes from a process that was compared.
 * Bounded: two URLs, three processes, one copy, three messages taken in a life of the directory. */
#define URLS 2

/* The finder: on disk. */
byte made = 0;  /* URLs so far: the lowest bits of a mask */
byte outbox = 0; /* mask: not answered yet */
byte heard = 0; /* messages that the other says it has committed */
/* In memory. */
byte compared = 0; /* process of the other */

/* The other: process, and its memory. */
byte process = 1;
bool greeted = false;  /* by the finder */
byte pending = 0; /* mask: taken in, not committed */
/* On disk, and in the copy. */
byte taken = 0;
byte got = 0;
bool copied = false;
byte copy_taken = 0;
byte copy_got = 0;

/* On their way. */
byte block = 0;             /* mask of one URL */
byte answer_by = 0;         /* process; 0: none */
byte answer_taken = 0;
byte answer_of = 0;         /* the URL */
byte hello_by = 0;
byte hello_taken = 0;
byte yes_to = 0;

#define ALL ((1 << made) - 1)

active proctype Finder()
{
    byte url;
    do
    :: atomic { made < URLS -> outbox = outbox | (1 << made); made++ }
    :: atomic { outbox != 0 && block == 0 -> /* any of its rows, again and again */
           if
           :: (outbox & 1) != 0 -> block = 1
           :: (outbox & 2) != 0 -> block = 2
           :: (outbox & 4) != 0 -> block = 4
           fi }
    :: atomic { hello_by != 0 -> /* a greeting: how much it has */
           if
           :: hello_by < compared -> skip /* of a former process */
           :: hello_by >= compared && hello_taken >= heard && hello_by != compared ->
               heard = hello_taken; compared = hello_by; yes_to = hello_by
           :: hello_by == compared -> yes_to = hello_by
           :: hello_by > compared && hello_taken < heard ->
#ifndef A_BACKUP_GOES_ON
               outbox = ALL; /* all is told again, in the transaction that forgets what was heard */
#endif
               heard = hello_taken; compared = hello_by; yes_to = hello_by
           fi;
           hello_by = 0 }
    :: atomic { answer_by != 0 ->
           if
#ifdef ANSWERS_OF_FORMER_PROCESSES_COUNT
           :: true ->
#else
           :: answer_by == compared ->
#endif
               outbox = outbox & (7 - answer_of);
               heard = (answer_taken > heard -> answer_taken : heard)
           :: else
           fi;
           answer_by = 0 }
    od
}

active proctype Other()
{
    do
    :: atomic { hello_by == 0 && !greeted -> hello_by = process; hello_taken = taken }
    :: atomic { yes_to != 0 -> greeted = (yes_to == process -> true : greeted); yes_to = 0 }
    :: atomic { block != 0 && pending == 0 && taken < 3 &&
#ifndef BLOCKS_ARE_TAKEN_BEFORE_THE_GREETING
           greeted &&
#endif
           true -> pending = block; block = 0
         }
    :: atomic { block != 0 && !greeted -> block = 0 } /* refused: it is sent again */
    :: atomic { pending != 0 -> /* the commit, and the answer behind it */
           got = got | pending; taken++;
           answer_by = process; answer_of = pending; answer_taken = taken;
           pending = 0 }
    :: atomic { !copied -> copied = true; copy_taken = taken; copy_got = got }
    :: atomic { process < 3 -> /* kill -9; the next process may find the copy in the place of its directory */
           process++; greeted = false; pending = 0;
           if
           :: copied -> taken = copy_taken; got = copy_got
           :: true
           fi }
    od
}

active proctype Judge()
{
    do
    :: atomic { outbox == 0 && compared == process && greeted && block == 0 && pending == 0 -> assert(got == ALL) }
    od
}
