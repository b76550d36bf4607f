package elfobj

import (
	"bytes"
	"strconv"
)

// libxml2 returns the release of libxml2 that an object contains and exports, 20914 for 2.9.14; 0
// if it exports none. xmlParserVersion points to its decimal digits, which a suffix may follow
// (libxml2, parser.c and include/libxml/xmlversion.h.in).
func (c *Contents) libxml2() int {
	indices := c.o.Exports.Named("xmlParserVersion")
	if len(indices) == 0 {
		return 0
	}
	places, err := c.Places()
	if err != nil || int(indices[0]) >= len(places) {
		return 0
	}
	words, err := c.Words([]Span{{places[indices[0]].Addr, 8}})
	if err != nil || len(words) == 0 || len(words[0]) == 0 || words[0][0].Symbol != "" {
		return 0
	}
	var b [5]byte // of 10000 to 99999
	if c.Load(words[0][0].Value, b[:]) < len(b) || bytes.ContainsFunc(b[:], func(r rune) bool {
		return r < '0' || r > '9'
	}) {
		return 0
	}
	n, _ := strconv.Atoi(string(b[:]))
	return n
}
