/* Counting what arrives: which numbers, in what order, how often. */
#include "peer.h"

#include <stdlib.h>

/* Numbers beyond this are counted but not told apart. */
enum { NUMBERS = 1 << 22 };

bool account_init(struct account *account)
{
    account->seen = calloc(NUMBERS / 8, 1);
    return account->seen != NULL;
}

void account_free(struct account *account)
{
    free(account->seen);
    account->seen = NULL;
}

static uint64_t word(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | at[i];
    return value;
}

/* RFC 3550's smoothed difference of transit times; the two clocks need not agree. */
static void jitter(struct account *account, uint64_t sent_ns, uint64_t now)
{
    int64_t transit = (int64_t)(now - sent_ns);
    if (account->received > 0) {
        double step_ms = (double)llabs(transit - account->last_transit_ns) / 1e6;
        account->jitter_ms += (step_ms - account->jitter_ms) / 16.0;
    }
    account->last_transit_ns = transit;
}

void account_take(struct account *account, const uint8_t *message, size_t len)
{
    uint64_t now = now_ns();
    if (len < DATA_HEADER || !message_is(message, len, 'D')) {
        account->foreign++;
        return;
    }
    uint64_t number = word(message + 4);
    jitter(account, word(message + 12), now);
    if (account->received++ == 0)
        account->first_ns = now;
    account->last_ns = now;
    account->bytes += len;
    if (number < NUMBERS) {
        uint8_t bit = (uint8_t)(1u << (number % 8));
        if (account->seen[number / 8] & bit) {
            account->duplicates++;
            return;
        }
        account->seen[number / 8] |= bit;
    }
    account->distinct++;
    if (number < account->highest_plus_one)
        account->reordered++;
    else
        account->highest_plus_one = number + 1;
}
