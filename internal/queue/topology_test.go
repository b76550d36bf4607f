package queue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/test/loopback"
	"github.com/compat-app/compat/internal/test/redistest"
)

// until waits for a condition.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for start := time.Now(); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("%s does not come", what)
		}
	}
}

// When the master of a replicated Redis dies, Sentinel elects another, and the queue continues
// with all its jobs.
func TestSentinel(t *testing.T) {
	master := redistest.Start(t)
	replica := master.Replica()
	direct := redis.NewClient(&redis.Options{Addr: master.Addr(), Protocol: 2})
	defer direct.Close()
	until(t, "the replica", func() bool {
		return strings.Contains(direct.Info(t.Context(), "replication").Val(), "state=online")
	})
	sentinel := master.Sentinel("compat")
	asked := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addr(), Protocol: 2})
	defer asked.Close()
	until(t, "the sentinel's list of replicas", func() bool {
		replicas, err := asked.Replicas(t.Context(), "compat").Result()
		return err == nil && len(replicas) == 1
	})

	q := mustOpen(t, Options{URL: sentinel.URL, Lease: time.Minute})
	enqueue(t, q, "g1", Job{Key: "a", Installation: 1}, Job{Key: "b", Installation: 1})
	lease := claim(t, q, "a")
	// WAIT applies to writes of its own connection; those of the queue were before.
	conn := direct.Conn()
	defer conn.Close()
	must(t, conn.Set(t.Context(), "after", "all", 0).Err())
	if n, err := conn.Wait(t.Context(), 1, patience).Result(); n != 1 || err != nil {
		t.Fatalf("%d replicas have it, %v", n, err)
	}
	master.Kill()
	must(t, asked.Set(t.Context(), "compat", "down-after-milliseconds", "1000").Err())
	until(t, "another master", func() bool { return q.Ping(t.Context()) == nil })
	if r := enqueue(t, q, "g1", Job{Key: "a", Installation: 1}); !r.Duplicate {
		t.Error("the delivery is forgotten")
	}
	done(t, lease, false)
	done(t, claim(t, q, "b"), false)
	consistent(t, q)
	_ = replica
}

// refused waits until an unusable queue returns the expected error, which may take a while on a
// busy machine.
func refused(t *testing.T, q *Queue, why string) {
	t.Helper()
	until(t, "an error of the "+why, func() bool {
		err := q.Ping(t.Context())
		if err == nil {
			t.Fatalf("it can be used, in spite of the %s", why)
		}
		return strings.Contains(err.Error(), why)
	})
}

// In a Cluster all keys of the queue are in one slot.
func TestCluster(t *testing.T) {
	var nodes []*redistest.Server
	var buses []int
	var clients []*redis.Client
	for range 3 {
		n, bus := redistest.Node(t)
		nodes, buses = append(nodes, n), append(buses, bus)
		clients = append(clients, redis.NewClient(&redis.Options{Addr: n.Addr(), Protocol: 2}))
		defer clients[len(clients)-1].Close()
	}
	for i, c := range clients {
		must(
			t,
			c.ClusterAddSlotsRange(t.Context(), []int{0, 5461, 10923}[i], []int{5460, 10922, 16383}[i]).
				Err(),
		)
		host, port, _ := strings.Cut(nodes[0].Addr(), ":")
		must(t, c.Do(t.Context(), "CLUSTER", "MEET", host, port, buses[0]).Err())
	}
	for _, c := range clients {
		until(t, "the cluster", func() bool {
			info := c.ClusterInfo(t.Context()).Val()
			return strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, "cluster_known_nodes:3")
		})
	}

	for _, n := range nodes { // whichever node is the first address
		q := mustOpen(
			t,
			Options{
				URL:   n.URL[:len(n.URL)-len("/0")] + "?cluster=true&addr=" + nodes[0].Addr(),
				Lease: time.Minute,
			},
		)
		enqueue(t, q, "", Job{Key: "a", Installation: 1})
		l := claim(t, q, "a")
		must(t, l.Save(t.Context(), []byte("state")))
		must(t, l.Snooze(t.Context(), time.Hour, "waits"))
		must(t, q.Park(t.Context(), 1, time.Now().Add(time.Hour)))
		if entries, err := q.List(t.Context(), Filter{}); err != nil || len(entries) != 1 ||
			entries[0].Saved != 5 {
			t.Errorf("%+v %v", entries, err)
		}
		if s, err := q.Stats(t.Context()); err != nil || s.Delayed != 1 || s.Parked != 1 {
			t.Errorf("%+v %v", s, err)
		}
		must(t, q.Drop(t.Context(), "a"))
		must(t, q.Park(t.Context(), 1, time.Time{}))
		for _, key := range []string{"x", "y", "z"} { // values are in different slots
			must(t, q.Put(t.Context(), key, []byte(key), time.Hour))
			if got, err := q.Get(t.Context(), key); string(got) != key || err != nil {
				t.Errorf("get %s: %q %v", key, got, err)
			}
		}
		if l, err := q.Claim(t.Context(), 20*time.Millisecond); l != nil || err != nil {
			t.Errorf("claim of nothing: %v %v", l, err)
		}
		if _, err := q.Skew(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// An ACL user with only the permissions that the queue needs is sufficient.
func TestAccessControl(t *testing.T) {
	server := redistest.Start(t)
	direct := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
	defer direct.Close()
	must(
		t,
		direct.Do(t.Context(), "ACL", "SETUSER", "compat", "on", ">secret", "~{compat}:*", "~compat:*",
			"+@read", "+@write", "+@scripting", "+@connection", "+@blocking", "+time", "-@dangerous").
			Err(),
	)
	q := mustOpen(
		t,
		Options{URL: "redis://compat:secret@" + server.Addr() + "/0", Lease: time.Minute},
	)
	enqueue(t, q, "g", Job{Key: "a", Installation: 1})
	done(t, claim(t, q, "a"), false)
	if l, err := q.Claim(t.Context(), 20*time.Millisecond); l != nil || err != nil {
		t.Errorf("claim of nothing: %v %v", l, err)
	}
	must(t, q.Put(t.Context(), "k", []byte("v"), time.Hour))
	if _, err := q.Stats(t.Context()); err != nil {
		t.Error(err)
	}
	wrong := mustOpen(t, Options{URL: "redis://compat:wrong@" + server.Addr() + "/0"})
	if err := wrong.Ping(t.Context()); err == nil || strings.Contains(err.Error(), "wrong@") ||
		errors.Is(err, ErrClosed) {
		t.Errorf("with a wrong password: %v", err)
	}
}

// rediss:// uses TLS, and accepts only a certificate of a known CA unless configured otherwise.
func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	self := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, self, self, &key.PublicKey, key)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	port := strconv.Itoa(loopback.Port(t))
	cert := write("cert.pem", "CERTIFICATE", der)
	server := redistest.Start(
		t,
		"--tls-port",
		port,
		"--tls-cert-file",
		cert,
		"--tls-key-file",
		write("key.pem", "PRIVATE KEY", secret),
		"--tls-ca-cert-file",
		cert,
		"--tls-auth-clients",
		"no",
	)
	direct := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
	defer direct.Close()
	must(t, direct.Do(t.Context(), "ACL", "SETUSER", "compat", "on", ">secret", "~*", "+@all").Err())

	q := mustOpen(
		t,
		Options{
			URL:   "rediss://compat:secret@127.0.0.1:" + port + "/0?skip_verify=true",
			Lease: time.Minute,
		},
	)
	enqueue(t, q, "g", Job{Key: "a", Installation: 1})
	done(t, claim(t, q, "a"), false)
	strict := mustOpen(t, Options{URL: "rediss://compat:secret@127.0.0.1:" + port + "/0"})
	refused(t, strict, "certificate")
}
