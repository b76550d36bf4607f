// Package factstore reads and writes stores of facts about wheels: a folder, object storage, or
// files that a web server has. A check takes the facts of a wheel from it instead of reading the
// wheel.
//
//	s, err := factstore.Open("https://facts.example/compat", "BASE64 KEY", os.LookupEnv)
//	facts := s.Get(ctx, sha256)
//	note := s.Note() // what a report has to say about the store
//
// An entry is found by the SHA-256 of the wheel, which comes from the lock file or from the index.
// It has a digest of its own and, except in a folder of the user, has to be signed with one of the
// keys that the user gave (Ed25519): a server, or an attacker on the way to it, can leave out
// entries, which are then read from the wheels, but not change them, and not give those of one
// wheel for another. A store that does not answer costs one timeout.
package factstore

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/internal/bucket"
	"github.com/compat-app/compat/internal/lazyregexp"
)

const (
	// timeout is for one entry: the largest have 2 MB. Reading wheels is slower than a store that
	// needs more, but an answer that waits for it once is still useful.
	timeout = 5 * time.Second
	// downFor is how long a store is not asked after it did not answer.
	downFor = time.Minute
)

// Store is a store of facts. It is safe for concurrent use. A nil Store has no entry.
type Store struct {
	Log *slog.Logger // gets what Note says; nil = nobody does

	bucket bucket.Bucket
	name   string              // for messages: its folder or host
	keys   []ed25519.PublicKey // nil = entries need no signature, because it is a local folder

	mu      sync.Mutex
	down    time.Time // until when it is not asked
	failure string    // why it was not read; "" = it was
	refused int       // entries that were not used
	why     string    // of the last one
	waiting context.Context
	give    context.CancelFunc // ends waiting requests
}

// Open returns the store at an address. It makes no request. Forms of the address:
//
//	DIR, file:///DIR                                    a folder
//	https://[USER:PASSWORD@]HOST/PATH, http://…         a web server
//	s3://BUCKET/PREFIX?region=REGION&endpoint=ADDRESS   object storage, see package bucket
//
// keys are public keys in base64, separated by commas, one of which has to have signed an entry. An
// address that is not a folder needs one.
func Open(address, keys string, getenv func(string) (string, bool)) (*Store, error) {
	s := &Store{name: address}
	s.waiting, s.give = context.WithCancel(context.Background())
	for text := range strings.FieldsFuncSeq(keys, func(r rune) bool { return r == ',' || r == ' ' }) {
		key, err := parseKey(text)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	scheme, _, remote := strings.Cut(address, "://")
	if !remote {
		dir, err := filepath.Abs(address)
		if err != nil {
			return nil, err
		}
		scheme, address = "file", (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
	}
	var err error
	switch scheme {
	case "http", "https":
		s.bucket, s.name, err = openWeb(address)
	default:
		s.name, _, _ = strings.Cut(s.name, "?")
		s.bucket, err = bucket.Open(address, getenv)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %w", cmp.Or(s.name, "it"), err)
	case scheme != "file" && s.keys == nil:
		return nil, fmt.Errorf("%s is not a folder of this machine, so its entries have to be signed; "+
			"set COMPAT_FACTS_KEY to the public key of its operator", s.name)
	}
	return s, nil
}

// digest matches the SHA-256 of a wheel.
var digest = lazyregexp.New(`^[0-9a-f]{64}$`)

// place returns the name of an entry: "1-0a1b2c3d/ab/abcd….facts".
func place(sha256 string) string {
	return facts.Format() + "/" + sha256[:2] + "/" + sha256 + ".facts"
}

// Get returns the facts of a wheel; nil if there are none that can be used.
func (s *Store) Get(ctx context.Context, sha256 string) []byte {
	if s == nil || !digest.MatchString(sha256) || s.isDown() {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(s.waitsFor(), cancel)()
	entry, err := s.bucket.Get(limited, place(sha256))
	switch {
	case err != nil && ctx.Err() == nil:
		s.fail(limited, err)
		return nil
	case entry == nil || err != nil:
		return nil
	}
	found, err := read(entry, sha256, s.keys)
	if err != nil {
		s.mu.Lock()
		s.refused, s.why = s.refused+1, err.Error()
		s.mu.Unlock()
		s.log("an entry of the facts store is not used", "wheel", sha256, "err", err)
	}
	return found
}

func (s *Store) log(text string, args ...any) {
	if s.Log != nil {
		s.Log.Warn(text, append(args, "store", s.name)...)
	}
}

// Put writes the facts of a wheel. key signs them; nil = they are not signed, and can only be used
// in a folder.
func (s *Store) Put(
	ctx context.Context, sha256 string, found []byte, key ed25519.PrivateKey,
) error {
	if !digest.MatchString(sha256) {
		return fmt.Errorf("%q is not a SHA-256", sha256)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*timeout)
	defer cancel()
	return s.bucket.Put(ctx, place(sha256), write(found, sha256, key))
}

// Note says what of the store was not used and why; "" if there is nothing to say.
func (s *Store) Note() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	if s.failure != "" {
		parts = append(parts, fmt.Sprintf("the facts store %s could not be read (%s), so wheels were "+
			"read instead", s.name, s.failure))
	}
	if s.refused > 0 {
		parts = append(parts, fmt.Sprintf("%d entries of the facts store %s were not used, and the "+
			"wheels were read instead: %s", s.refused, s.name, s.why))
	}
	return strings.Join(parts, "; ")
}

func (s *Store) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.down)
}

func (s *Store) waitsFor() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// fail makes the store be left alone for a while, and ends the requests that wait for it.
func (s *Store) fail(ctx context.Context, err error) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", timeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.down) { // this request was ended because of another one
		return
	}
	s.log("the facts store cannot be read", "err", err)
	s.down, s.failure = time.Now().Add(downFor), err.Error()
	s.give()
	s.waiting, s.give = context.WithCancel(context.Background())
}
