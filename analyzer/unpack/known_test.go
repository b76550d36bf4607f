package unpack

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
)

// A file that is known is not read again, and keeps its place; one with another content is read.
func TestKnown(t *testing.T) {
	large := string(bytes.Repeat([]byte("x"), 2*concurrentBytes))
	first := zipOf(t, item{name: "a.so", data: large}, item{name: "b.so", data: "b"},
		item{name: "c.so", data: "c"})
	second := zipOf(t, item{name: "a.so", data: large}, item{name: "b.so", data: "other"},
		item{name: "c.so", data: "c"})
	var mu sync.Mutex // files are read concurrently
	known := map[string]any{}
	key := func(path string, size int64, crc uint32) string {
		return fmt.Sprint(path, size, " ", crc)
	}
	for n, data := range [][]byte{first, second} {
		var read, visited []string
		_, problems, err := Walk(t.Context(), "w.whl", bytes.NewReader(data), int64(len(data)), Options{
			Workers: 2,
			Want:    func(*Package, string, int64, []byte) bool { return true },
			Known: func(_ *Package, path string, size int64, crc uint32) any {
				mu.Lock()
				defer mu.Unlock()
				return known[key(path, size, crc)]
			},
			Prepare: func(f *File) any {
				text, err := io.ReadAll(io.NewSectionReader(f.Content, 0, f.Size))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				known[key(f.Path, f.Size, f.CRC32)] = string(text)
				read = append(read, f.Path)
				return string(text)
			},
		}, func(f *File) error {
			visited = append(visited, f.Path+" "+f.Prepared.(string)[:1])
			return nil
		})
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		want := []string{"a.so x", "b.so b", "c.so c"}
		if n == 1 {
			want[1] = "b.so o"
			if !slices.Equal(read, []string{"b.so"}) {
				t.Errorf("read again: %v", read)
			}
		}
		if !slices.Equal(visited, want) {
			t.Errorf("visited %v, want %v", visited, want)
		}
	}
}
