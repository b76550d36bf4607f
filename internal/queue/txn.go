package queue

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// txn is a transaction of an embedded queue, in which commands of Redis are executed.
//
// Strings and hashes are records of the bucket "keys", one for each key. They have the form that
// earlier releases read and write. Sets and sorted sets are indexes of the jobs, which are built
// again when the file is opened. They are in the bucket "index", where a set NAME has these keys:
//
//	NAME 0                  its kind, a byte, and the number of members, eight bytes
//	NAME 0 m MEMBER         a byte, or in a sorted set the score, eight bytes
//	NAME 0 s SCORE MEMBER   nothing; only in a sorted set, with the score in the order of bytes
//
// No name contains a zero byte (checkName).
type txn struct {
	engine *engine
	now    time.Time // constant during a script

	keys, index *bbolt.Bucket
	records     map[string]*record // of keys that were read or changed; nil = there is no such key
	changed     map[string]bool    // those of them that were changed
	indexed     bool               // an index was changed
}

// bucketIndex has the sets.
const bucketIndex = "index"

// Kinds of sets.
const (
	plainSet  = 's'
	sortedSet = 'z'
)

// record is a string that may expire, or a hash.
type record struct {
	Hash  map[string]string `json:"hash,omitempty"`
	Text  []byte            `json:"text,omitempty"`
	Until time.Time         `json:"until,omitzero"`
}

func (r *record) expired(now time.Time) bool { return !r.Until.IsZero() && !r.Until.After(now) }

// isVolatile reports whether a record is not stored, because an embedded queue has one process:
// leaders, and the counters that order turns.
func isVolatile(key string) bool {
	name, _ := strings.CutPrefix(key, prefix)
	return name == "claims" || name == "turn" || strings.HasPrefix(name, "lead:")
}

func (t *txn) open(tx *bbolt.Tx) (err error) {
	t.records, t.changed = map[string]*record{}, map[string]bool{}
	t.keys, t.index = tx.Bucket([]byte(bucketKeys)), tx.Bucket([]byte(bucketIndex))
	if t.index == nil { // only before restore
		t.index, err = tx.CreateBucket([]byte(bucketIndex))
	}
	return err
}

// clearIndex deletes all sets.
func (t *txn) clearIndex() (err error) {
	tx := t.index.Tx()
	if err := tx.DeleteBucket([]byte(bucketIndex)); err != nil {
		return err
	}
	t.indexed = true
	t.index, err = tx.CreateBucket([]byte(bucketIndex))
	return err
}

// flush writes the changed records. changed means that there is something to commit.
func (t *txn) flush() (changed bool, err error) {
	for key := range t.changed {
		r := t.records[key]
		if r == nil {
			err = t.keys.Delete([]byte(key))
		} else if data, e := json.Marshal(r); e != nil {
			err = e
		} else {
			err = t.keys.Put([]byte(key), data)
		}
		if err != nil {
			return false, err
		}
	}
	return t.indexed || len(t.changed) > 0, nil
}

// each calls f for every stored record that has not expired.
func (t *txn) each(f func(key string, r *record) error) error {
	return t.keys.ForEach(func(k, v []byte) error {
		r, err := readRecord(k, v)
		if err != nil || r.expired(t.now) {
			return err
		}
		return f(string(k), r)
	})
}

func readRecord(key, data []byte) (*record, error) {
	r := &record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("the entry of %q is damaged: %w", key, err)
	}
	return r, nil
}

// get returns the record of a key, or nil.
func (t *txn) get(key string) (*record, error) {
	if isVolatile(key) {
		return t.engine.volatile[key], nil
	}
	r, known := t.records[key]
	if !known {
		if data := t.keys.Get([]byte(key)); data != nil {
			var err error
			if r, err = readRecord([]byte(key), data); err != nil {
				return nil, err
			}
		}
		t.records[key] = r
	}
	if r != nil && r.expired(t.now) {
		return nil, nil
	}
	return r, nil
}

// set replaces the record of a key; nil deletes it. A record that get returned has to be set after
// it was changed.
func (t *txn) set(key string, r *record) {
	switch {
	case !isVolatile(key):
		t.records[key], t.changed[key] = r, true
	case r == nil:
		delete(t.engine.volatile, key)
	default:
		t.engine.volatile[key] = r
	}
}

// hash returns the record of a key with a hash, or a new one.
func (t *txn) hash(key string) (*record, error) {
	r, err := t.get(key)
	if err != nil {
		return nil, err
	}
	if r == nil {
		r = &record{}
	}
	if r.Hash == nil {
		r.Hash = map[string]string{}
	}
	return r, nil
}

// exists reports whether there is a string, hash or set.
func (t *txn) exists(key string) (bool, error) {
	if _, n := t.count(key); n > 0 {
		return true, nil
	}
	r, err := t.get(key)
	return r != nil, err
}

// delete deletes a string, hash or set, and reports whether it existed.
func (t *txn) delete(key string) (bool, error) {
	exists, err := t.exists(key)
	if err != nil || !exists {
		return false, err
	}
	if kind, _ := t.count(key); kind == 0 {
		t.set(key, nil)
		return true, nil
	}
	for _, member := range t.members(key) {
		if _, err := t.removeMember(key, member); err != nil {
			return false, err
		}
	}
	return true, nil
}

func memberKey(name, member string) []byte { return []byte(name + "\x00m" + member) }

func scoreKey(name string, score float64, member string) []byte {
	bits := math.Float64bits(score)
	if bits>>63 == 1 {
		bits = ^bits // of negative numbers the greater comes first
	} else {
		bits |= 1 << 63
	}
	key := binary.BigEndian.AppendUint64([]byte(name+"\x00s"), bits)
	return append(key, member...)
}

func keyScore(bits uint64) float64 {
	if bits>>63 == 1 {
		return math.Float64frombits(bits &^ (1 << 63))
	}
	return math.Float64frombits(^bits)
}

// count returns the kind and size of a set; 0, 0 if there is none.
func (t *txn) count(name string) (kind byte, n uint64) {
	if data := t.index.Get([]byte(name + "\x00")); len(data) == 9 {
		return data[0], binary.BigEndian.Uint64(data[1:])
	}
	return 0, 0
}

func (t *txn) setCount(name string, kind byte, n uint64) error {
	t.indexed = true
	key := []byte(name + "\x00")
	if n == 0 {
		return t.index.Delete(key)
	}
	return t.index.Put(key, binary.BigEndian.AppendUint64([]byte{kind}, n))
}

// addMember adds a member to a set, and reports whether it is new.
func (t *txn) addMember(name, member string) (bool, error) {
	key := memberKey(name, member)
	if t.index.Get(key) != nil {
		return false, nil
	}
	_, n := t.count(name)
	if err := t.index.Put(key, []byte{1}); err != nil {
		return false, err
	}
	return true, t.setCount(name, plainSet, n+1)
}

// score returns the score of a member of a sorted set.
func (t *txn) score(name, member string) (score float64, has bool) {
	data := t.index.Get(memberKey(name, member))
	if len(data) != 8 {
		return 0, false
	}
	return math.Float64frombits(binary.BigEndian.Uint64(data)), true
}

// addScore adds a member to a sorted set, or changes its score.
func (t *txn) addScore(name, score, member string) error {
	after, err := strconv.ParseFloat(score, 64)
	if err != nil || math.IsNaN(after) {
		return fmt.Errorf("the score %q of %s is no number", score, name)
	}
	before, has := t.score(name, member)
	switch {
	case has && before == after:
		return nil
	case has:
		if err := t.index.Delete(scoreKey(name, before, member)); err != nil {
			return err
		}
	default:
		_, n := t.count(name)
		if err := t.setCount(name, sortedSet, n+1); err != nil {
			return err
		}
	}
	t.indexed = true
	if err := t.index.Put(scoreKey(name, after, member), nil); err != nil {
		return err
	}
	bits := binary.BigEndian.AppendUint64(nil, math.Float64bits(after))
	return t.index.Put(memberKey(name, member), bits)
}

// removeMember removes a member of a set, and reports whether it was there.
func (t *txn) removeMember(name, member string) (bool, error) {
	kind, n := t.count(name)
	key := memberKey(name, member)
	if n == 0 || t.index.Get(key) == nil {
		return false, nil
	}
	if score, is := t.score(name, member); is {
		if err := t.index.Delete(scoreKey(name, score, member)); err != nil {
			return false, err
		}
	}
	if err := t.index.Delete(key); err != nil {
		return false, err
	}
	return true, t.setCount(name, kind, n-1)
}

// members returns the members of a set.
func (t *txn) members(name string) (members []string) {
	start := name + "\x00m"
	t.scan(start, []byte(start), func(rest []byte) bool {
		members = append(members, string(rest))
		return true
	})
	return members
}

// scored is a member of a sorted set.
type scored struct {
	member string
	score  float64
}

// sorted returns the members of a sorted set by score: of those with a score from least to most,
// the ones from index from, up to limit. It takes time for from and for what it returns.
func (t *txn) sorted(name string, least, most float64, from, limit int) (all []scored) {
	start := name + "\x00s"
	first := scoreKey(name, least, "")
	t.scan(start, first, func(rest []byte) bool {
		score := keyScore(binary.BigEndian.Uint64(rest))
		if score > most || len(all) >= limit {
			return false
		}
		if from--; from < 0 {
			all = append(all, scored{string(rest[8:]), score})
		}
		return len(all) < limit
	})
	return all
}

// scan calls f with what follows a prefix in each key of the index from first on, in their order,
// while it returns true.
func (t *txn) scan(start string, first []byte, f func(rest []byte) bool) {
	c := t.index.Cursor()
	for k, _ := c.Seek(first); k != nil; k, _ = c.Next() {
		rest, is := bytes.CutPrefix(k, []byte(start))
		if !is || !f(rest) {
			return
		}
	}
}
