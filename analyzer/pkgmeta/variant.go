package pkgmeta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// NullVariant is the label of the variant without properties (PEP 825).
const NullVariant = "null"

// MaxVariant limits variant.json, in bytes. Those of the drafts' examples have less than 1 KB.
const MaxVariant = 64 << 10

// Property is a property of a variant wheel, with all values that it lists: a system needs one.
type Property struct {
	Namespace, Feature string
	Values             []string // sorted
}

// String returns the property as PEP 825 writes it: "x86_64 :: level :: v3".
func (p Property) String() string {
	return p.Namespace + " :: " + p.Feature + " :: " + strings.Join(p.Values, ", ")
}

// Variant is the content of variant.json in the dist-info folder of a variant wheel, as in the
// drafts of PEP 817 and 825.
type Variant struct {
	Labels     []string // of the variants that it lists; a valid file has one
	Namespaces []string // default-priorities.namespace
	// Properties of the first label, sorted by namespace and feature.
	Properties []Property
}

// Property returns the values of a property; nil if there is none. v may be nil.
func (v *Variant) Property(namespace, feature string) []string {
	if v == nil {
		return nil
	}
	for _, p := range v.Properties {
		if p.Namespace == namespace && p.Feature == feature {
			return p.Values
		}
	}
	return nil
}

var (
	variantLabel = lazyregexp.New(`^[0-9a-z_.]+$`)
	variantName  = lazyregexp.New(`^[a-z0-9_]+$`)
	// The implementations that PEP 425 and packaging.tags know.
	pythonTag = lazyregexp.New(`^(?:py|cp|pp|ip|jy|graalpy)\d`)
)

// ParseVariantName parses the file name of a wheel that may be a variant wheel (PEP 825, a draft):
// "numpy-2.3.2-cp313-cp313-win_amd64-x86_64_v3.whl" has the label "x86_64_v3". The label is "" for
// other wheels. Installers that do not know variants refuse names with a label.
//
// It returns an error if neither the name nor that without the label is one of ParseWheelName.
func ParseVariantName(file string) (w WheelName, label string, err error) {
	if w, err = ParseWheelName(file); err == nil {
		return w, "", nil
	}
	stem, isWheel := strings.CutSuffix(file, ".whl")
	at := strings.LastIndexByte(stem, '-')
	if !isWheel || at < 0 || !variantLabel.MatchString(stem[at+1:]) {
		return WheelName{}, "", err
	}
	variant, errName := ParseWheelName(stem[:at] + ".whl")
	if errName != nil || !slices.ContainsFunc(variant.Tags, func(t Tag) bool {
		return pythonTag.MatchString(t.Python)
	}) {
		return WheelName{}, "", err
	}
	return variant, stem[at+1:], nil
}

// ParseVariant parses variant.json.
//
// It returns an error if it is not JSON of that form, lists no variant or no namespace, uses a
// namespace that it does not list, or has names or values with other characters than PEP 825
// allows. Keys that the draft of PEP 825 does not have are ignored: other drafts have more.
func ParseVariant(data []byte) (*Variant, error) {
	if len(data) > MaxVariant {
		return nil, fmt.Errorf("it has more than %d bytes", MaxVariant)
	}
	var file struct {
		Schema   *string `json:"$schema"`
		Defaults struct {
			Namespace []string `json:"namespace"`
		} `json:"default-priorities"`
		Variants map[string]map[string]map[string][]string `json:"variants"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("it cannot be decoded: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is not valid JSON: something follows its end")
	}
	switch {
	case file.Schema == nil:
		return nil, errors.New("it has no $schema")
	case len(file.Defaults.Namespace) == 0:
		return nil, errors.New("default-priorities has no namespace")
	case len(file.Variants) == 0:
		return nil, errors.New("it lists no variant")
	}
	v := &Variant{Namespaces: file.Defaults.Namespace, Labels: slices.Sorted(maps.Keys(file.Variants))}
	for _, n := range v.Namespaces {
		if !variantName.MatchString(n) {
			return nil, fmt.Errorf("%s is not a valid namespace", quote(n))
		}
	}
	for _, label := range v.Labels {
		if !variantLabel.MatchString(label) {
			return nil, fmt.Errorf("%s is not a valid label", quote(label))
		}
	}
	namespaces := file.Variants[v.Labels[0]]
	for _, n := range slices.Sorted(maps.Keys(namespaces)) {
		if !slices.Contains(v.Namespaces, n) {
			return nil, fmt.Errorf("the namespace %s is not listed in default-priorities", quote(n))
		}
		for _, f := range slices.Sorted(maps.Keys(namespaces[n])) {
			p := Property{Namespace: n, Feature: f, Values: slices.Sorted(slices.Values(namespaces[n][f]))}
			if !variantName.MatchString(f) {
				return nil, fmt.Errorf("%s is not a valid name of a feature", quote(f))
			}
			if len(p.Values) == 0 {
				return nil, fmt.Errorf("%s :: %s has no value", n, f)
			}
			for _, value := range p.Values {
				if !variantLabel.MatchString(value) {
					return nil, fmt.Errorf("%s is not a valid value of %s :: %s", quote(value), n, f)
				}
			}
			v.Properties = append(v.Properties, p)
		}
	}
	return v, nil
}
