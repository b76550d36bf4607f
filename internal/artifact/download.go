package artifact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Set is what a download brought. Its files stay until Close.
type Set struct {
	Files    []File    // in the order of Found.Items
	Problems []Problem // what can't be judged: Found.Problems, then failed items in their order
	Kept     int       // how many of Files were here already and not fetched

	cache *cache
	held  []string // files of the cache
	once  sync.Once
}

// File is one downloaded artifact or asset.
type File struct {
	// for people and for the kind of file: the artifact's name with .zip, or the asset's; no two
	// are equal. Attacker data
	Name   string
	Path   string // on disk, a name of our own
	Size   int64
	SHA256 string // hex
}

// Close releases the files. Unchanged artifacts may stay in the cache. It may be called more than
// once, and on nil.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	var err error
	s.once.Do(func() {
		for _, file := range s.held {
			s.cache.drop(file)
		}
		err = s.cache.trim()
	})
	return err
}

// Download fetches all items. What can't be had for good is in Problems; an error is something that
// may work another time (network, 5xx, a rate limit, a full disk), and then nothing is held: what
// was fetched before stays in the cache for the next try.
func (f *Fetcher) Download(ctx context.Context, c *github.Client, found *Found) (*Set, error) {
	type outcome struct {
		sum     string
		size    int64
		kept    bool
		problem string
		err     error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := make([]outcome, len(found.Items))
	slots := make(chan struct{}, parallel)
	var wait sync.WaitGroup
	var total int64
	for i, item := range found.Items {
		// By the sizes that GitHub names, so that the same items are refused each time, cached or
		// not.
		switch total += item.Size; {
		case item.Expired:
			out[i].problem = expired
			total -= item.Size
			continue
		case item.Size > f.o.MaxItem:
			out[i].problem = tooLarge(item.Size, f.o.MaxItem)
			total -= item.Size
			continue
		case total > f.o.MaxTotal:
			out[i].problem = fmt.Sprintf(
				"not checked: all artifacts together exceed the limit of %s; select fewer with \"artifacts\" "+
					"in .github/compat.yml",
				bytesOf(f.o.MaxTotal),
			)
			total -= item.Size
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			o := &out[i]
			if o.sum, o.size, o.kept, o.err = f.fetch(ctx, c, item); o.err != nil {
				if o.problem = f.problem(item, o.err); o.problem == "" {
					cancel()
				} else {
					f.o.Log.InfoContext(ctx, "artifact not available", "name", item.Name, "id", item.ID, "error",
						o.err)
					o.err = nil
				}
			}
		})
	}
	wait.Wait()
	set := &Set{Problems: append([]Problem(nil), found.Problems...), cache: f.cache}
	var failed error
	names := unique(found.Items)
	for i, o := range out {
		switch {
		case o.err != nil:
			if failed == nil ||
				errors.Is(failed, context.Canceled) { // others were stopped because of the one
				failed = fmt.Errorf("artifact: fetch %d: %w", found.Items[i].ID, o.err)
			}
		case o.problem != "":
			set.Problems = append(set.Problems, Problem{found.Items[i].Name, o.problem})
		default:
			if o.kept {
				set.Kept++
			}
			file := fileOf(nameOf(found.Items[i]), o.sum)
			set.held = append(set.held, file)
			set.Files = append(
				set.Files,
				File{Name: names[i], Path: f.cache.path(file), Size: o.size, SHA256: o.sum},
			)
		}
	}
	if failed != nil {
		set.Close()
		return nil, failed
	}
	return set, nil
}

var sha256Digest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// fetch brings one item into the cache and holds it there.
func (f *Fetcher) fetch(
	ctx context.Context,
	c *github.Client,
	item Item,
) (sum string, size int64, kept bool, err error) {
	digest := strings.ToLower(item.Digest)
	known := sha256Digest.MatchString(digest)
	if known {
		sum = strings.TrimPrefix(digest, "sha256:")
		unlock, err := f.cache.lock(ctx, nameOf(item))
		if err != nil {
			return "", 0, false, err
		}
		defer unlock()
		if size, ok := f.cache.take(nameOf(item), sum); ok {
			return sum, size, true, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return "", 0, false, err
	}
	part, err := os.CreateTemp(f.cache.part, "part-")
	if err != nil {
		return "", 0, false, fmt.Errorf("make a file: %w", err)
	}
	defer os.Remove(part.Name()) // gone already when all is well
	defer part.Close()
	o := github.DownloadOptions{Max: f.o.MaxItem}
	if known {
		o.Digest = digest
	}
	if item.Asset {
		o.Accept = "application/octet-stream"
	}
	if item.Asset ||
		// without a digest an artifact's size is that of its content (upload-artifact before v4)
		known {
		o.Size = item.Size
	}
	size, sum, err = c.Download(ctx, item.url, part, o)
	if err != nil {
		return "", 0, false, err
	}
	if err := part.Close(); err != nil {
		return "", 0, false, fmt.Errorf("finish a file: %w", err)
	}
	return sum, size, false, f.cache.put(part.Name(), fileOf(nameOf(item), sum))
}

const expired = "expired on GitHub; re-run the workflow"

// problem is the sentence for an item that can't be had for good; "" for errors that may pass.
func (f *Fetcher) problem(item Item, err error) string {
	var e *github.DownloadError
	errors.As(err, &e)
	// GitHub speaks of this item; not of the installation, whose end is the whole job's
	var answer *gh.ErrorResponse
	errors.As(err, &answer)
	fate := github.Classify(err)
	switch {
	case e == nil && answer == nil:
		return ""
	case e != nil && e.Err == github.ErrExpired:
		return expired
	case e != nil && e.Err == github.ErrDigest:
		return fmt.Sprintf(
			"its digest differs from the one that GitHub reports: expected %s, got %s; re-run the workflow",
			e.WantSum,
			e.GotSum,
		)
	case e != nil && e.Err == github.ErrTruncated:
		return fmt.Sprintf(
			"truncated: each download ended after %d of %d bytes; re-run the workflow",
			e.Got,
			e.Want,
		)
	case e != nil && e.Err == github.ErrTooLarge:
		return tooLarge(max(e.Got, item.Size), f.o.MaxItem)
	case fate.Kind == github.Missing:
		return "missing: GitHub lists it, but the download returns 404; re-run the workflow"
	case fate.Kind == github.Gone || fate.Kind == github.Forbidden || fate.Kind == github.Invalid:
		return "cannot be downloaded:  " + fate.Reason
	}
	return ""
}

func tooLarge(size, limit int64) string {
	if size <= limit {
		return fmt.Sprintf("too large: more than the limit of %s for one artifact", bytesOf(limit))
	}
	return fmt.Sprintf(
		"too large: %s, the limit is %s for one artifact",
		bytesOf(size),
		bytesOf(limit),
	)
}

func bytesOf(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return strings.TrimSuffix(
				strconv.FormatFloat(float64(n)/float64(u.size), 'f', 1, 64),
				".0",
			) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// unique names the files: an artifact is a zip, and of equal names each gets the workflow before
// it, or its id.
func unique(items []Item) []string {
	count := map[string]int{}
	name := func(i Item) string {
		if i.Asset || strings.HasSuffix(strings.ToLower(i.Name), ".zip") {
			return i.Name
		}
		return i.Name + ".zip"
	}
	for _, i := range items {
		count[name(i)]++
		count[i.from+"/"+name(i)]++
	}
	out := make([]string, len(items))
	for k, i := range items {
		switch n := name(i); {
		case count[n] == 1:
			out[k] = n
		case count[i.from+"/"+n] == 1:
			out[k] = i.from + "/" + n
		default:
			out[k] = strconv.FormatInt(i.ID, 10) + "/" + n
		}
	}
	return out
}
