package machoobj

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a version in the encoding of load commands: 16 bits major, 8 bits minor, 8 bits patch.
// Versions compare as numbers; 0 means no version.
type Version uint32

// Make returns the version major.minor.
func Make(major, minor int) Version { return Version(major<<16 | minor<<8) }

// String returns "11.0" or "10.13.6".
func (v Version) String() string {
	s := fmt.Sprintf("%d.%d", v>>16, v>>8&0xff)
	if patch := v & 0xff; patch != 0 {
		s += fmt.Sprintf(".%d", patch)
	}
	return s
}

// MarshalText returns String.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText parses the result of MarshalText.
func (v *Version) UnmarshalText(b []byte) (err error) {
	*v, err = ParseVersion(string(b))
	return err
}

// ParseVersion parses "11", "11.0" or "10.13.6".
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 3 {
		return 0, fmt.Errorf("version %q has more than three numbers", s)
	}
	var v Version
	for i, bits := range []int{16, 8, 8} {
		n := uint64(0)
		if i < len(parts) {
			var err error
			if n, err = strconv.ParseUint(parts[i], 10, bits); err != nil {
				return 0, fmt.Errorf("version %q is not of the form 10.13.6", s)
			}
		}
		v = v<<bits | Version(n)
	}
	return v, nil
}
