package webhook

import (
	"net"
	"slices"
	"sync"
)

// maxConnections limits the open connections. Each costs about 30 KB until its request is verified.
// GitHub and a reverse proxy have far fewer.
const maxConnections = 1024

// Limit returns a listener with a limit of open connections. Above it, the oldest connection is
// closed of the address that has the most, because GitHub sends a delivery within a fraction of a
// second.
func Limit(l net.Listener) net.Listener {
	return &limited{Listener: l, of: map[string]int{}}
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
	address string
	once    sync.Once
}

func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	address, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		address = conn.RemoteAddr().String()
	}
	c := &connection{Conn: conn, of: l, address: address}
	if extra := l.add(c); extra != nil {
		extra.Close()
	}
	return c, nil
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
	for _, other := range l.open {
		if l.of[other.address] > l.of[worst.address] {
			worst = other
		}
	}
	return worst
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
