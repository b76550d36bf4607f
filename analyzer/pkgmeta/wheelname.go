package pkgmeta

import (
	"fmt"
	"strings"
)

// Tag is a compatibility tag (PEP 425): "cp312", "abi3", "manylinux_2_17_x86_64".
type Tag struct{ Python, ABI, Platform string }

// String returns the tag as in a WHEEL file: "cp312-abi3-manylinux_2_17_x86_64".
func (t Tag) String() string { return t.Python + "-" + t.ABI + "-" + t.Platform }

// WheelName is a parsed wheel file name (PEP 427). Name is not normalised; Build is "" without a
// build tag; Tags is the expanded tag set, ordered by Python tag.
type WheelName struct {
	Name, Version, Build string
	Tags                 []Tag
}

// ParseWheelName parses
// "warp_lang-1.6.2-1-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"; file has no
// directory.
//
// It returns an error unless the name ends in .whl and has 5 parts between "-", or 6 with a build
// tag that begins with a digit; the project name and the version (PEP 440, "_" for "-") are valid;
// and the tags expand to at most 4,096.
func ParseWheelName(file string) (WheelName, error) {
	stem, ok := strings.CutSuffix(file, ".whl")
	if !ok {
		return WheelName{}, fmt.Errorf("wheel name %s: does not end in .whl", quote(file))
	}
	parts := strings.Split(stem, "-")
	if len(parts) != 5 && len(parts) != 6 {
		return WheelName{}, fmt.Errorf(
			"wheel name %s: it should be NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl", quote(file),
		)
	}
	w := WheelName{Name: parts[0], Version: parts[1]}
	if !validName(w.Name) {
		return WheelName{}, fmt.Errorf(
			"wheel name %s: %s is not a valid project name",
			quote(file),
			quote(w.Name),
		)
	}
	if _, err := ParseVersion(strings.ReplaceAll(w.Version, "_", "-")); err != nil {
		return WheelName{}, fmt.Errorf("wheel name %s: %w", quote(file), err)
	}
	if len(parts) == 6 {
		w.Build = parts[2]
		if w.Build == "" || w.Build[0] < '0' || w.Build[0] > '9' {
			return WheelName{}, fmt.Errorf(
				"wheel name %s: the build number %s does not begin with a digit",
				quote(file),
				quote(w.Build),
			)
		}
	}
	tags, err := ParseTags(strings.Join(parts[len(parts)-3:], "-"))
	if err != nil {
		return WheelName{}, fmt.Errorf("wheel name %s: %w", quote(file), err)
	}
	w.Tags = tags
	return w, nil
}

// SplitTag is the reverse of Tag.String. Parts that are missing are empty.
func SplitTag(s string) (t Tag) {
	var rest string
	t.Python, rest, _ = strings.Cut(s, "-")
	t.ABI, t.Platform, _ = strings.Cut(rest, "-")
	return t
}

// ParseTags expands a compressed tag set such as "py2.py3-none-any". A tag with an empty part is an
// error.
func ParseTags(s string) ([]Tag, error) {
	parts := strings.Split(s, "-")
	if len(parts) != 3 {
		return nil, fmt.Errorf("tag %s: is not python-abi-platform", quote(s))
	}
	python := strings.Split(parts[0], ".")
	abi := strings.Split(parts[1], ".")
	platform := strings.Split(parts[2], ".")
	// Check each factor first, so that the product cannot overflow.
	if max(len(python), len(abi), len(platform)) > maxTags ||
		len(python)*len(abi)*len(platform) > maxTags {
		return nil, fmt.Errorf("tag %s: expands to more than %d tags", quote(s), maxTags)
	}
	tags := make([]Tag, 0, len(python)*len(abi)*len(platform))
	for _, py := range python {
		for _, a := range abi {
			for _, pl := range platform {
				if py == "" || a == "" || pl == "" {
					return nil, fmt.Errorf("tag %s: has an empty part", quote(s))
				}
				tags = append(tags, Tag{py, a, pl})
			}
		}
	}
	return tags, nil
}
