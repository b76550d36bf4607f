package webhook

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// maxConnections limits the open connections. Each costs about 30 KB until its request is verified.
// GitHub and a reverse proxy have far fewer.
const maxConnections = 1024

// maxOfAddress are the connections of one address from which on it gives way to others. GitHub has
// fewer from an address, but several, and a stranger with many addresses has one from each.
const maxOfAddress = maxConnections / 8

// Serve serves connections up to a limit. Above it, one is closed that has not delivered anything
// with a valid signature: the oldest of an address that has many, and otherwise the oldest, because
// GitHub sends a delivery within a fraction of a second.
func Serve(server *http.Server, l net.Listener) error {
	server.ConnContext = withConnection
	return server.Serve(limit(l))
}

func limit(l net.Listener) net.Listener {
	return &limited{Listener: l, of: map[string]int{}}
}

// connectionKey is the key of a request's *connection in its context.
type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// trust records that the connection of a request has delivered something with a valid signature.
func trust(ctx context.Context) {
	if c, limited := ctx.Value(connectionKey{}).(*connection); limited {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.trusted = true
	}
}

type limited struct {
	net.Listener
	mu   sync.Mutex
	open []*connection  // oldest first
	of   map[string]int // number of open connections of an address
}

// connection is an open connection.
type connection struct {
	net.Conn
	of      *limited
	address string // as of senderOf
	trusted bool   // it has delivered something with a valid signature
	once    sync.Once
}

func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, of: l, address: senderOf(conn.RemoteAddr())}
	if extra := l.add(c); extra != nil {
		extra.Close()
	}
	return c, nil
}

// ofOneSender is the length of the IPv6 prefix that one sender has: a host can use all of its
// addresses.
const ofOneSender = 64

// senderOf returns the address that connections of one sender have in common.
func senderOf(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := at.Addr().Unmap(); ip.Is4() {
		return ip.String()
	}
	network, err := at.Addr().WithZone("").Prefix(ofOneSender)
	if err != nil {
		return a.String()
	}
	return network.String()
}

// add records a connection, and returns one to close; nil = there is room.
func (l *limited) add(c *connection) *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, c)
	l.of[c.address]++
	if len(l.open) <= maxConnections {
		return nil
	}
	worst := l.open[0]
	for _, other := range l.open[1:] {
		if l.rank(other) > l.rank(worst) {
			worst = other
		}
	}
	return worst
}

// rank is the order in which connections are closed: first that with the highest rank. The caller
// holds mu.
func (l *limited) rank(c *connection) int {
	switch n := l.of[c.address]; {
	case c.trusted:
		return 0
	case n > maxOfAddress:
		return n
	}
	return 1
}

// Close closes the connection, and makes room for another.
func (c *connection) Close() error {
	c.once.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.open = slices.DeleteFunc(c.of.open, func(o *connection) bool { return o == c })
		if c.of.of[c.address]--; c.of.of[c.address] == 0 {
			delete(c.of.of, c.address)
		}
	})
	return c.Conn.Close()
}
