package queue

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Commands and options that only tests use.
func init() {
	commands["ZADD"] = command{true, func(t *txn, args []string) (any, error) {
		if args[1] != "xx" {
			return runZAdd(t, args)
		}
		if _, has := t.score(args[0], args[3]); !has {
			return int64(0), nil
		}
		return int64(0), t.addScore(args[0], args[2], args[3])
	}}
	commands["KEYS"] = command{false, func(t *txn, args []string) (any, error) {
		var names []any
		match := func(name string) bool {
			start, rest := strings.CutSuffix(args[0], "*")
			return name == args[0] || rest && strings.HasPrefix(name, start)
		}
		err := t.each(func(key string, _ *record) error {
			if match(key) {
				names = append(names, key)
			}
			return nil
		})
		t.scan("", nil, func(key []byte) bool {
			if name, is := strings.CutSuffix(string(key), "\x00"); is && match(name) {
				names = append(names, name)
			}
			return true
		})
		return append([]any{}, names...), err
	}}
	commands["TYPE"] = command{false, func(t *txn, args []string) (any, error) {
		kind, _ := t.count(args[0])
		return map[byte]string{plainSet: "set", sortedSet: "zset", 0: "none"}[kind], nil
	}}
	commands["TTL"] = command{false, func(t *txn, args []string) (any, error) {
		r, err := t.get(args[0])
		if err != nil || r == nil || r.Until.IsZero() {
			return int64(-1), err
		}
		return int64(r.Until.Sub(t.now).Seconds()), nil
	}}
}

// Scores are sorted as numbers, and members with equal scores by name.
func TestSortedSets(t *testing.T) {
	q := mustOpen(t, Options{Dir: t.TempDir()})
	scores := map[string]float64{"a": -math.MaxFloat64, "b": -1.5, "c": -1, "d": 0, "e": 1e-300,
		"f": 1, "g": 1, "h": 2e15 + 1, "i": 2e15 + 2, "j": math.Inf(1)}
	must(t, q.engine.do(t.Context(), func(t *txn) error {
		for member, score := range scores {
			for _, s := range []string{"7", numberText(score)} { // the second replaces the first
				if err := t.addScore("set", s, member); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	got, err := q.rdb.ZRangeWithScores(t.Context(), "set", 2, -1).Result()
	must(t, err)
	var members []string
	for _, z := range got {
		members = append(members, z.Member.(string))
		if z.Score != scores[z.Member.(string)] {
			t.Errorf("%s has %v, want %v", z.Member, z.Score, scores[z.Member.(string)])
		}
	}
	if !slices.Equal(members, strings.Split("cdefghij", "")) {
		t.Errorf("members %v", members)
	}
	if n := q.rdb.ZCard(t.Context(), "set").Val(); n != 10 {
		t.Errorf("%d members", n)
	}
	must(t, q.rdb.Del(t.Context(), "set").Err())
	if names := keys(t, q, "set*"); len(names) != 0 {
		t.Errorf("left: %q", names)
	}
}

// A call that fails has no effect, and those that are executed with it do.
func TestFailedCallHasNoEffect(t *testing.T) {
	q := mustOpen(t, Options{Dir: t.TempDir()})
	group := []*call{}
	for _, key := range []string{"a", "b", "c"} {
		group = append(group, &call{done: make(chan error, 1), run: func(t *txn) error {
			if _, err := t.call([]string{"SET", key, "1"}); err != nil || key != "b" {
				return err
			}
			return t.addScore("set", "no number", key)
		}})
	}
	q.engine.commit(group)
	for i, c := range group {
		if err := <-c.done; (err != nil) != (i == 1) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if got := keys(t, q, "*"); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("stored %q", got)
	}
}

// A list wakes one worker for each element.
func TestEmbeddedLists(t *testing.T) {
	q := mustOpen(t, Options{Dir: t.TempDir()})
	woken := make(chan []string, 2)
	for range 2 {
		go func() {
			got, _ := q.rdb.Do(t.Context(), "BLPOP", "x", "wake", "60").StringSlice()
			woken <- got
		}()
	}
	must(t, q.rdb.RPush(t.Context(), "wake", "1").Err())
	if got := <-woken; !slices.Equal(got, []string{"wake", "1"}) {
		t.Errorf("woken by %q", got)
	}
	select {
	case got := <-woken:
		t.Errorf("woken twice: %q", got)
	case <-time.After(20 * time.Millisecond):
	}
	must(t, q.rdb.RPush(t.Context(), "x", "2").Err())
	if got := <-woken; !slices.Equal(got, []string{"x", "2"}) {
		t.Errorf("woken by %q", got)
	}
}

// What cannot be read is an error, not an empty answer.
func TestUnreadableIsNotEmpty(t *testing.T) {
	q := mustOpen(t, Options{Dir: t.TempDir()})
	must(t, q.rdb.HSet(t.Context(), "hash", "n", "no number").Err())
	if n, err := q.rdb.HIncrBy(t.Context(), "hash", "n", 1).Result(); err == nil {
		t.Errorf("text counts as %d", n-1)
	}
	must(t, q.engine.db.Update(func(tx *bbolt.Tx) error {
		return tx.DeleteBucket([]byte(bucketIndex))
	}))
	if n, err := q.rdb.ZCard(t.Context(), prefix+"in:waiting").Result(); err == nil {
		t.Errorf("%d jobs wait in no index", n)
	}
}

// A change in a transaction that only reads is an error, because it is not stored.
func TestViewStoresNothing(t *testing.T) {
	q := mustOpen(t, Options{Dir: t.TempDir()})
	for _, command := range []string{"SET x 1", "SADD y 1"} {
		err := q.engine.view(func(t *txn) error {
			_, err := t.call(strings.Fields(command))
			return err
		})
		wantErr(t, command, err, bolterrors.ErrTxNotWritable)
	}
	if names := keys(t, q, "*"); len(names) != 0 {
		t.Errorf("stored %q", names)
	}
}

// Pages of a list have every key once, in its order, also if many have the same score.
func TestPagesOfEqualScores(t *testing.T) {
	q := mustOpen(t, Options{Dir: t.TempDir()})
	for i, score := range []string{"-inf", "-2", "1", "1", "1", "1.5", "7", "7"} {
		must(t, q.rdb.Do(t.Context(), "ZADD", "s", score, string(rune('a'+i))).Err())
	}
	by := func(least, most string, from, count int64) string {
		found, err := q.rdb.ZRangeByScoreWithScores(t.Context(), "s",
			&redis.ZRangeBy{Min: least, Max: most, Offset: from, Count: count}).Result()
		must(t, err)
		var out []string
		for _, z := range found {
			out = append(out, fmt.Sprint(z.Member, z.Score))
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		least, most string
		from, count int64
		want        string
	}{
		{"-inf", "+inf", 0, 3, "a-Inf b-2 c1"}, {"1", "+inf", 1, 3, "d1 e1 f1.5"},
		{"1", "1", 0, 9, "c1 d1 e1"}, {"1.5", "+inf", 1, 9, "g7 h7"}, {"8", "+inf", 0, 9, ""},
		{"-2", "1", 1, 2, "c1 d1"},
	} {
		if got := by(c.least, c.most, c.from, c.count); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
