/* The messages of `fairwire perf`: "FwP", a letter, and what belongs to it. Bulk cells use its
 * data message too, so that either end can count what the other sent. */
#include "peer.h"

#include <string.h>

static void put_word(uint8_t *out, uint64_t word)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(word >> (56 - 8 * i));
}

/* Writes the DATA_HEADER bytes that come before a message's padding. */
void message_data(uint8_t *out, uint64_t number)
{
    memcpy(out, "FwPD", 4);
    put_word(out + 4, number);
    put_word(out + 12, now_ns());
}

bool message_is(const uint8_t *message, size_t len, char letter)
{
    return len >= 4 && memcmp(message, "FwP", 3) == 0 && message[3] == (uint8_t)letter;
}
