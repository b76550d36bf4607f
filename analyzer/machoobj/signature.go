package machoobj

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"hash"
	"strings"
)

// Blobs of a code signature (kern/cs_blobs.h of XNU), which are big endian.
const (
	magicSuperBlob     = 0xfade0cc0
	magicCodeDirectory = 0xfade0c02
	slotCertificate    = 0x10000
	adHocFlag          = 0x2

	hashSHA1      = 1
	hashSHA256    = 2
	hashSHA256Cut = 3 // truncated to 20 bytes
	hashSHA384    = 4

	headerCodeDirectory = 44 // size in the first version
)

// signature reads LC_CODE_SIGNATURE and checks its hashes against the pages of the file.
func (i *image) signature() error {
	command := i.tables[cmdSignature]
	if command == nil {
		return nil
	}
	off, count := place(command)
	b, err := i.table(off, count, "the code signature")
	if err != nil {
		return err
	}
	be := binary.BigEndian
	if len(b) < 12 || be.Uint32(b) != magicSuperBlob {
		i.o.Signature = &Signature{Stale: "it does not begin with a signature's header"}
		return nil
	}
	n := be.Uint32(b[8:])
	if n > maxBlobs || 12+8*uint64(n) > uint64(len(b)) {
		return damaged("the code signature has %d blobs in %d bytes", n, len(b))
	}
	i.o.Signature = &Signature{AdHoc: true}
	var best directory
	for k := range int(n) {
		slot, at := be.Uint32(b[12+8*k:]), be.Uint32(b[16+8*k:])
		if uint64(at)+8 > uint64(len(b)) {
			return damaged("a blob of the code signature is at %d of %d bytes", at, len(b))
		}
		blob := b[at:]
		if length := be.Uint32(blob[4:]); uint64(length) < uint64(len(blob)) {
			blob = blob[:length]
		}
		if slot == slotCertificate && len(blob) > 8 {
			i.o.Signature.AdHoc = false
		}
		if len(blob) >= headerCodeDirectory && be.Uint32(blob) == magicCodeDirectory {
			d := newDirectory(blob)
			if d.rank() > best.rank() {
				best = d
			}
		}
	}
	if !i.hashesPages() {
		return nil
	}
	i.o.Signature.Stale, err = i.stale(best, off)
	return err
}

// directory is a CodeDirectory: the hashes of a file's pages.
type directory struct {
	hashes         []byte // of pages
	pages, limit   uint64
	kind, hashSize byte
	pageSize       uint64 // 0: the whole file is one page
}

func newDirectory(b []byte) directory {
	be := binary.BigEndian
	d := directory{pages: uint64(be.Uint32(b[28:])), limit: uint64(be.Uint32(b[32:])),
		hashSize: b[36], kind: b[37]}
	if b[39] > 0 && b[39] < 32 {
		d.pageSize = 1 << b[39]
	}
	const has64 = 0x20300 // since this version, limit has 64 bits
	if be.Uint32(b[8:]) >= has64 && len(b) >= 64 {
		if limit := be.Uint64(b[56:]); limit != 0 {
			d.limit = limit
		}
	}
	if at := uint64(be.Uint32(b[16:])); at <= uint64(len(b)) {
		d.hashes = b[at:]
	}
	return d
}

// rank returns the kernel's preference for the hash type; 0 for types that are not supported here.
func (d directory) rank() int {
	switch d.kind {
	case hashSHA1:
		return 1
	case hashSHA256Cut:
		return 2
	case hashSHA256:
		return 3
	case hashSHA384:
		return 4
	}
	return 0
}

func (d directory) hash() hash.Hash {
	switch d.kind {
	case hashSHA1:
		return sha1.New()
	case hashSHA384:
		return sha512.New384()
	}
	return sha256.New()
}

// hashesPages reports whether the pages of the slice are compared with its signature, which macOS
// requires on arm64 only. Hashing costs more than reading all tables.
func (i *image) hashesPages() bool { return strings.HasPrefix(i.o.Arch, "arm64") }

// stale returns why a directory does not match the slice up to the signature; "" if it matches.
func (i *image) stale(d directory, end uint64) (string, error) {
	if d.rank() == 0 {
		return "it has no hash type that compat supports", nil
	}
	page := d.pageSize
	if page == 0 {
		page = max(d.limit, 1)
	}
	sum := d.hash()
	switch {
	case d.limit != end:
		return fmt.Sprintf("it covers %d bytes, but the code has %d", d.limit, end), nil
	case d.pages > maxPages:
		return "", tooLarge("the number of signed pages", d.pages, maxPages)
	case d.pages != (d.limit+page-1)/page:
		return fmt.Sprintf("it has hashes of %d pages for %d bytes", d.pages, d.limit), nil
	case int(d.hashSize) > sum.Size() || d.hashSize == 0,
		d.pages*uint64(d.hashSize) > uint64(len(d.hashes)):
		return "its list of hashes is cut off", nil
	}
	buf := make([]byte, min(page, 1<<20))
	digest := make([]byte, 0, sum.Size())
	for n := range d.pages {
		sum.Reset()
		start := n * page
		for at, end := start, min(start+page, d.limit); at < end; {
			part := buf[:min(uint64(len(buf)), end-at)]
			if k, err := i.r.ReadAt(part, int64(at)); k < len(part) {
				return "", err
			}
			sum.Write(part)
			at += uint64(len(part))
		}
		digest = sum.Sum(digest[:0])
		if !bytes.Equal(digest[:d.hashSize], d.hashes[n*uint64(d.hashSize):][:d.hashSize]) {
			return fmt.Sprintf("the bytes from %d on were changed after signing", start), nil
		}
	}
	return "", nil
}
