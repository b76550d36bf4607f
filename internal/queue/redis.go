package queue

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/compat-app/compat/internal/sleep"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// openRedis connects to Redis. Forms of the address:
//
//	redis://USER:PASSWORD@HOST:6379/0                                    one server; rediss:// with TLS, unix:///PATH of a socket
//	redis://HOST:26379/0?master_name=NAME&addr=HOST:26379                Sentinel; username and password are those of the servers
//	redis://USER:PASSWORD@HOST:6379?cluster=true&addr=HOST:6379          a Cluster, by any of its nodes
func (q *Queue) openRedis() error {
	rdb, err := newClient(q.o.URL)
	if err != nil {
		return errors.New("the Redis URL cannot be used: " + withoutValues(err) + "; it looks like " +
			"redis://user:password@host:6379/0, or rediss:// for TLS, with special characters of the " +
			"password percent-encoded (/ is %2F, ? is %3F, # is %23)")
	}
	if q.scripts, err = loadScripts(); err != nil {
		return err
	}
	q.rdb = rdb
	q.own(q.inspect)
	return nil
}

// withoutValues returns what is wrong with an address. An error of the client is "redis: PROBLEM:
// VALUE", and the value is part of the password if that has a special character.
func withoutValues(err error) string {
	if rest, ours := strings.CutPrefix(err.Error(), "redis: "); ours {
		problem, _, _ := strings.Cut(rest, ":")
		return problem
	}
	return "it is not a URL" // a *url.Error contains all of it
}

func newClient(address string) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	switch {
	case query.Get("master_name") != "":
		o, err := redis.ParseFailoverURL(address)
		if err != nil {
			return nil, err
		}
		o.MaxRetries, o.DialerRetries, o.Protocol = -1, 1, 2
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = dialTimeout, ioTimeout, ioTimeout,
			dialTimeout
		o.ContextTimeoutEnabled, o.DisableIdentity = true, true
		o.PoolSize = max(o.PoolSize, connections)
		return redis.NewFailoverClient(o), nil
	case query.Get("cluster") == "true":
		query.Del("cluster")
		u.RawQuery = query.Encode()
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, err
		}
		// The client retries up to three times if a node is down or redirects. Then a delivery is
		// a duplicate, and the second lease of a claim expires.
		o.MaxRetries, o.DialerRetries, o.Protocol = -1, 1, 2
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = dialTimeout, ioTimeout, ioTimeout,
			dialTimeout
		o.ContextTimeoutEnabled, o.DisableIdentity = true, true
		o.PoolSize = max(o.PoolSize, connections)
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(tune(o)), nil
}

const (
	dialTimeout = time.Second
	ioTimeout   = 2 * time.Second // must be more than maxBlock

	// While workers are idle, each partition occupies a connection that blocks. The others must
	// suffice for the webhook, also on a machine with one core.
	connections = 64 + MaxPartitions
)

// tune sets timeouts, so that calls fail within seconds while Redis is down. Calls are not
// retried: a script may have run even if its result was lost.
func tune(o *redis.Options) *redis.Options {
	o.MaxRetries, o.DialerRetries, o.Protocol = -1, 1, 2
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = dialTimeout, ioTimeout, ioTimeout,
		dialTimeout
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.PoolSize = max(o.PoolSize, connections)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o
}

// LogClient redirects the log of the Redis client (failed connections, which are also returned as
// errors) from stderr to log, with level debug. The client has one logger for the process, so
// each command calls this once, before Open.
func LogClient(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

type clientLog struct{ *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.DebugContext(ctx, "redis client: "+fmt.Sprintf(format, v...))
}

// inspect checks whether Redis is configured to persist its data, as soon as it responds, and
// logs what to change.
func (q *Queue) inspect(ctx context.Context) {
	for pause := 5 * time.Second; ; pause = min(2*pause, 5*time.Minute) {
		risks, err := q.Risks(ctx)
		if err == nil {
			for _, r := range risks {
				q.log.Warn("redis may lose jobs: "+r.What, "do", r.Do)
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		if mismatch := q.Mismatch(ctx); mismatch != nil {
			err = mismatch
		}
		q.log.Warn("redis can't be used yet; webhooks are refused until it can", "error", err)
		if sleep.For(ctx, pause) != nil {
			return
		}
	}
}

// Mismatch returns an error with what to write in REDIS_URL if the server uses TLS and the address
// does not, or the other way around. The errors of the calls are then time-outs or closed
// connections. It returns nil if that is not so or cannot be found out. No password is sent.
func (q *Queue) Mismatch(ctx context.Context) error {
	u, err := url.Parse(q.o.URL)
	if err != nil || u.Host == "" {
		return nil //nolint:nilerr // openRedis returns it
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil //nolint:nilerr // the server is down
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(ioTimeout)); err != nil {
		return nil //nolint:nilerr // likewise
	}
	switch u.Scheme {
	case "redis":
		// The handshake only shows that the server uses TLS.
		unverified := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // nothing is sent
		err := tls.Client(conn, unverified).HandshakeContext(ctx)
		var alert *net.OpError // such as that it wants a certificate of the client
		if err == nil || errors.As(err, &alert) && alert.Op == "remote error" {
			return fmt.Errorf("queue: %s uses TLS; write rediss:// instead of redis:// in REDIS_URL",
				address)
		}
	case "rediss":
		answer := make([]byte, 1)
		if _, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
			return nil //nolint:nilerr // likewise
		}
		// +PONG, or -NOAUTH; TLS begins alerts with another byte
		if _, err := conn.Read(answer); err == nil && strings.Contains("+-", string(answer)) {
			return fmt.Errorf("queue: %s does not use TLS; write redis:// instead of rediss:// in "+
				"REDIS_URL, or enable TLS in Redis", address)
		}
	}
	return nil
}

// Risk is a setting of Redis with which jobs can be lost.
type Risk struct {
	What string // the setting and what it causes
	Do   string // the command or option that changes it
}

// Risks returns the settings of Redis with which jobs can be lost; none for an embedded queue. If
// Redis does not show a setting, that is a risk too: nobody else checks it.
func (q *Queue) Risks(ctx context.Context) ([]Risk, error) {
	if q.engine != nil {
		return nil, nil
	}
	// Managed services and access control lists refuse CONFIG more often than INFO.
	info := map[string]string{}
	refused := ""
	for _, section := range []string{"memory", "persistence"} {
		text, err := q.rdb.Info(ctx, section).Result()
		var answer redis.Error
		switch {
		case errors.As(err, &answer) && !strings.HasPrefix(err.Error(), "NOAUTH") &&
			!strings.HasPrefix(err.Error(), "WRONGPASS"):
			refused = ": it refuses the command INFO"
		case err != nil:
			return nil, err
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			info[name] = value
		}
	}
	var risks []Risk
	switch policy := info["maxmemory_policy"]; policy {
	case "noeviction":
	case "":
		risks = append(risks, Risk{
			"maxmemory-policy is not checked" + refused,
			"make sure that it is noeviction, or allow the user of REDIS_URL the command info",
		})
	default:
		risks = append(risks, Risk{
			"maxmemory-policy is " + policy + ", so leases and jobs are evicted when memory is short",
			"CONFIG SET maxmemory-policy noeviction",
		})
	}
	switch info["aof_enabled"] {
	case "1":
	case "":
		risks = append(risks, Risk{
			"appendonly is not checked" + refused,
			"make sure that it is yes, or allow the user of REDIS_URL the command info",
		})
	default:
		risks = append(risks, Risk{
			"appendonly is no, so a crash of Redis loses the jobs since its last snapshot",
			"start it with --appendonly yes",
		})
	}
	return risks, nil
}
