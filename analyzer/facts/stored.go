package facts

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/compact"
)

// meaning is increased when the same bytes of a wheel are read as other facts than before although
// the types of the facts are the same. TestFormat compares the facts of a wheel with earlier ones.
const meaning = 9

// Format identifies what Encode writes: "1-0a1b2c3d". Facts of another format are not read.
var Format = sync.OnceValue(func() string {
	return strconv.Itoa(meaning) + "-" + compact.Shape(reflect.TypeFor[Set]())
})

// Limits of what Decode reads, in bytes. The facts of the CUDA build of PyTorch 2.8 have 2 MB, and
// 12 MB uncompressed.
const (
	maxStored       = 64 << 20
	maxUncompressed = 256 << 20
)

var errNotWhole = errors.New("the wheel could not be read completely")

// Encode returns what was read of one wheel, for Input.Stored. names are those of Read. It returns
// an error unless everything of it could be read: a later version may read the rest.
func Encode(s *Set, names *elfobj.Names) ([]byte, error) {
	switch {
	case len(s.Unread) > 0:
		return nil, fmt.Errorf("%w: %s: %s", errNotWhole, s.Unread[0].Path, s.Unread[0].Reason)
	case len(s.Artifacts) != 1 || s.Artifacts[0].Kind != KindWheel:
		return nil, errors.New("it is not a wheel")
	}
	// The next level needs 14 times as long for 5 % less.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	data := z.EncodeAll(compact.Encode(s, names), nil)
	if len(data) > maxStored {
		return nil, fmt.Errorf("its facts have %d MB", len(data)>>20)
	}
	return data, z.Close()
}

// Decode returns what was read of a wheel, and adds its symbols to names. file is the name that the
// wheel must have. Damaged facts are an error that wraps compact.ErrDamaged.
func Decode(data []byte, file string, names *elfobj.Names) (*Set, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxUncompressed),
		zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	plain, err := z.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", compact.ErrDamaged, err)
	}
	s := &Set{}
	if err := compact.Decode(plain, s, names); err != nil {
		return nil, err
	}
	if len(s.Artifacts) != 1 || s.Artifacts[0] == nil || s.Artifacts[0].Kind != KindWheel ||
		s.Artifacts[0].Path != file || len(s.Unread) > 0 {
		return nil, fmt.Errorf("%w: it is not about %.100q", compact.ErrDamaged, file)
	}
	s.Artifacts[0].prepare()
	return s, nil
}

// stored adds what was read of a wheel before.
func (r *Set) stored(in Input, o Options, names *elfobj.Names) error {
	if o.ABI || in.Size > maxStored {
		return errors.New("its facts cannot be used here")
	}
	data, err := io.ReadAll(io.NewSectionReader(in.Content, 0, in.Size))
	if err != nil {
		return err
	}
	s, err := Decode(data, in.Name, names)
	if err != nil {
		return err
	}
	r.Artifacts = append(r.Artifacts, s.Artifacts...)
	r.Skipped = append(r.Skipped, s.Skipped...)
	return nil
}
