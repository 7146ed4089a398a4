// A pod's network for a program that the system's linker starts, by LD_PRELOAD: names of the cluster, and an address of its own.
//
// A pod is processes of this machine, without a network namespace, which would need root. So the names are looked up where a pod's
// resolver would find them, in a file of addresses and names (AZURE_GPU_POD_HOSTS, in the form of /etc/hosts, where the address that
// a pod shows is one of its names), and a port that is bound on all addresses, or on the one that the pod shows, is bound on the
// pod's own (AZURE_GPU_POD_LOOPBACK, in 127.0.0.0/8): equal ports of two pods don't meet. AZURE_GPU_POD_PORTS are ports of this
// machine that stand for the pod's declared ones, and are bound on 127.0.0.1 instead: nothing outside this machine reaches either.
// Names that the file lacks, and all else, are this machine's.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define MOST_ADDRESSES 64
#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

// The addresses of `name`, as texts; how many. A trailing dot, which says that a name is whole, doesn't count.
static int found(const char *name, char addresses[MOST_ADDRESSES][INET_ADDRSTRLEN]) {
    const char *path = getenv("AZURE_GPU_POD_HOSTS");
    char line[4096];
    int count = 0;
    size_t length = name ? strlen(name) : 0;
    FILE *file = path && length ? fopen(path, "re") : NULL;
    if (!file) return 0;
    if (length > 1 && name[length - 1] == '.') length--;
    while (count < MOST_ADDRESSES && fgets(line, sizeof line, file)) {
        char *kept = NULL, *address = strtok_r(line, " \t\n", &kept), *word;
        while (address && (word = strtok_r(NULL, " \t\n", &kept)))
            if (strlen(word) == length && !strncasecmp(word, name, length)) {
                snprintf(addresses[count++], INET_ADDRSTRLEN, "%s", address);
                break;
            }
    }
    fclose(file);
    return count;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    typedef int (*Real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    Real real = NEXT(Real, "getaddrinfo");
    char addresses[MOST_ADDRESSES][INET_ADDRSTRLEN];
    int count = found(node, addresses);
    if (!count || (hints && (hints->ai_flags & AI_NUMERICHOST))) return real(node, service, hints, result);
    struct addrinfo asked = {0}, *first = NULL, **end = &first;
    if (hints) asked = *hints;
    if (asked.ai_family == AF_INET6 && !(asked.ai_flags & AI_V4MAPPED)) return EAI_NONAME;
    asked.ai_flags = (asked.ai_flags & ~(AI_CANONNAME | AI_ADDRCONFIG)) | AI_NUMERICHOST;
    for (int each = 0; each < count; each++) {
        int failed = real(addresses[each], service, &asked, end);
        if (failed) {
            if (first) freeaddrinfo(first);
            return failed;
        }
        while (*end) end = &(*end)->ai_next;
    }
    if (hints && (hints->ai_flags & AI_CANONNAME)) first->ai_canonname = strdup(node);  // freed with the list
    *result = first;
    return 0;
}

struct hostent *gethostbyname(const char *name) {
    typedef struct hostent *(*Real)(const char *);
    char addresses[MOST_ADDRESSES][INET_ADDRSTRLEN];
    return NEXT(Real, "gethostbyname")(found(name, addresses) ? addresses[0] : name);
}

int gethostbyname_r(const char *name, struct hostent *entry, char *buffer, size_t size, struct hostent **result, int *error) {
    typedef int (*Real)(const char *, struct hostent *, char *, size_t, struct hostent **, int *);
    char addresses[MOST_ADDRESSES][INET_ADDRSTRLEN];
    const char *asked = found(name, addresses) ? addresses[0] : name;
    return NEXT(Real, "gethostbyname_r")(asked, entry, buffer, size, result, error);
}

// Whether a port of this machine stands for one that the pod declares.
static int declared(in_port_t port) {
    const char *ports = getenv("AZURE_GPU_POD_PORTS");
    char *end;
    while (ports && *ports) {
        if (strtol(ports, &end, 10) == ntohs(port)) return 1;
        ports = *end ? end + 1 : end;
    }
    return 0;
}


// The IPv4 address of a socket's address, also of one that is mapped into IPv6; NULL where it has none.
static struct in_addr *inside(struct sockaddr_storage *address) {
    if (address->ss_family == AF_INET) return &((struct sockaddr_in *)address)->sin_addr;
    struct in6_addr *given = &((struct sockaddr_in6 *)address)->sin6_addr;
    if (address->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(given)) return (struct in_addr *)(given->s6_addr + 12);
    return NULL;
}

// Puts the address where a pod that shows this one can be reached in its place, where there is such a pod.
static void lead(struct in_addr *given) {
    char shown[INET_ADDRSTRLEN], addresses[MOST_ADDRESSES][INET_ADDRSTRLEN];
    if ((ntohl(given->s_addr) >> 24) == 10 && inet_ntop(AF_INET, given, shown, sizeof shown) && found(shown, addresses))
        inet_pton(AF_INET, addresses[0], given);
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
    typedef int (*Real)(int, const struct sockaddr *, socklen_t);
    struct sockaddr_storage led = {0};
    struct in_addr *given;
    if (address && length <= sizeof led) {
        memcpy(&led, address, length);
        if ((given = inside(&led))) {
            lead(given);
            address = (struct sockaddr *)&led;
        }
    }
    return NEXT(Real, "connect")(socket, address, length);
}

int bind(int socket, const struct sockaddr *address, socklen_t length) {
    typedef int (*Real)(int, const struct sockaddr *, socklen_t);
    Real real = NEXT(Real, "bind");
    const char *own = getenv("AZURE_GPU_POD_LOOPBACK");
    struct sockaddr_storage led = {0};
    struct in_addr pods, loopback, *given;
    if (!own || !address || length > sizeof led || inet_pton(AF_INET, own, &pods) != 1) return real(socket, address, length);
    memcpy(&led, address, length);
    if (led.ss_family != AF_INET && led.ss_family != AF_INET6) return real(socket, address, length);
    struct sockaddr_in6 *wide = (struct sockaddr_in6 *)&led;
    loopback.s_addr = declared(wide->sin6_port) ? htonl(INADDR_LOOPBACK) : pods.s_addr;  // the port lies where that of IPv4 does
    if (led.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&wide->sin6_addr)) {
        int alone = 0;
        socklen_t size = sizeof alone;
        getsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &alone, &size);
        if (alone) {
            wide->sin6_addr = in6addr_loopback;
            return real(socket, (struct sockaddr *)&led, length);
        }
        memset(wide->sin6_addr.s6_addr + 10, 0xff, 2);
    }
    if ((given = inside(&led))) {
        lead(given);
        if (given->s_addr == htonl(INADDR_ANY) || given->s_addr == pods.s_addr) *given = loopback;
    }
    return real(socket, (struct sockaddr *)&led, length);
}
