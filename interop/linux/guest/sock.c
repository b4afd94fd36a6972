/* The kernel's DCCP socket: opening it, and what it knows about itself. */
#include "peer.h"

#include <errno.h>
#include <unistd.h>

/* The kernel's numbers; static programs' headers often lack them. */
enum {
    DCCP_TYPE = 6,
    DCCP_PROTOCOL = 33,
    DCCP_LEVEL = 269,
    OPT_SERVICE = 2,
    OPT_CUR_MPS = 5,
    OPT_CCID = 13,
    OPT_TX_CCID = 14,
    OPT_RX_CCID = 15,
    OPT_CCID_RX_INFO = 128,
    OPT_CCID_TX_INFO = 192,
};

/* What CCID 3 answers to the two information options. */
struct tx_info {
    uint64_t x, x_recv; /* bytes/s times 64 */
    uint32_t x_calc, rtt_us, p_millionths, rto, gap_us;
};

struct rx_info {
    uint32_t x_recv, rtt_us, p_millionths;
};

static bool prefer(int fd, int option, const struct preferences *preferences)
{
    return preferences->len == 0
        || setsockopt(fd, DCCP_LEVEL, option, preferences->ccid, (socklen_t)preferences->len) == 0;
}

/* What must be known before the first packet. */
static bool configure(int fd, const struct options *options)
{
    size_t count = options->server ? options->service_count : 1;
    socklen_t size = (socklen_t)(count * sizeof options->services[0]);
    return setsockopt(fd, DCCP_LEVEL, OPT_SERVICE, options->services, size) == 0
        && prefer(fd, OPT_CCID, &options->both) && prefer(fd, OPT_TX_CCID, &options->tx)
        && prefer(fd, OPT_RX_CCID, &options->rx);
}

static bool bind_local(int fd, const struct options *options)
{
    struct sockaddr_storage local = { .ss_family = options->address.ss_family };
    /* The port is at the same place for both families. */
    ((struct sockaddr_in *)&local)->sin_port = htons(options->local_port);
    return bind(fd, (struct sockaddr *)&local, options->address_len) == 0;
}

static bool establish(int fd, const struct options *options, struct result *result)
{
    const struct sockaddr *address = (const struct sockaddr *)&options->address;
    int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    result->stage = "options";
    if (!configure(fd, options))
        return false;
    if (options->server) {
        result->stage = "listen";
        return bind(fd, address, options->address_len) == 0 && listen(fd, options->backlog) == 0;
    }
    result->stage = "bind";
    if (options->local_port != 0 && !bind_local(fd, options))
        return false;
    result->stage = "connect";
    return connect(fd, address, options->address_len) == 0;
}

/* A connected or a listening socket; -1 with the reason in `result`. */
int sock_open(const struct options *options, struct result *result)
{
    int fd = socket(options->address.ss_family, DCCP_TYPE, DCCP_PROTOCOL);
    if (fd >= 0 && establish(fd, options, result))
        return fd;
    result->error = errno;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int ask(int fd, int option)
{
    int value = 0; /* One-byte answers need room for an int. */
    socklen_t len = sizeof value;
    if (getsockopt(fd, DCCP_LEVEL, option, &value, &len) != 0)
        return -1;
    return len == 1 ? value & 0xff : value;
}

/* Which CCIDs were agreed, and how long a message may be. */
void sock_describe(int fd, struct result *result)
{
    result->ccid_tx = ask(fd, OPT_TX_CCID);
    result->ccid_rx = ask(fd, OPT_RX_CCID);
    result->mps = ask(fd, OPT_CUR_MPS);
}

static void add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->last = value;
    mean->samples++;
}

static double probability(uint32_t millionths)
{
    return millionths == UINT32_MAX ? 0.0 : millionths / 1e6;
}

/* Takes CCID 3's figures of both directions; other CCIDs have none. */
void sock_sample(int fd, struct result *result)
{
    struct tx_info tx;
    struct rx_info rx;
    socklen_t len = sizeof tx;
    if (result->ccid_tx == 3 && getsockopt(fd, DCCP_LEVEL, OPT_CCID_TX_INFO, &tx, &len) == 0) {
        add(&result->tx.x, (double)tx.x / 64.0);
        add(&result->tx.x_recv, (double)tx.x_recv / 64.0);
        add(&result->tx.p, probability(tx.p_millionths));
        add(&result->tx.rtt, tx.rtt_us / 1e6);
    }
    len = sizeof rx;
    if (result->ccid_rx == 3 && getsockopt(fd, DCCP_LEVEL, OPT_CCID_RX_INFO, &rx, &len) == 0) {
        add(&result->rx.x_recv, rx.x_recv);
        add(&result->rx.p, probability(rx.p_millionths));
        add(&result->rx.rtt, rx.rtt_us / 1e6);
    }
}
