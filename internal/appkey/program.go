package appkey

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const (
	// programTime leaves GitHub's deadline for a delivery alone: signatures are made by jobs.
	programTime = 10 * time.Second
	// maxSignature is that of an RSA key of 8,192 bits; minSignature of 1,024.
	maxSignature, minSignature = 1024, 128
	// maxComplaint is how much of the program's stderr is in an error.
	maxComplaint = 300
)

// run has a program sign a digest.
func run(program string, digest []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), programTime)
	defer cancel()
	c := exec.CommandContext(ctx, program)
	c.Stdin = bytes.NewReader(digest)
	signature, complaint := &limited{most: maxSignature}, &limited{most: maxComplaint}
	c.Stdout, c.Stderr = signature, complaint
	c.WaitDelay = time.Second // a child of the program may keep the pipes open
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the program for signatures did not end within %s", programTime)
	case errors.As(err, &exit):
		said := strings.Join(strings.Fields(complaint.kept.String()), " ")
		return nil, fmt.Errorf("the program for signatures failed: %w: %s", err,
			cmp.Or(said, "it wrote nothing to stderr"))
	case err != nil && strings.ContainsAny(program, " \t"):
		return nil, fmt.Errorf("the program for signatures cannot be started: %w; the whole value is "+
			"its path, without arguments", err)
	case err != nil:
		return nil, fmt.Errorf("the program for signatures cannot be started: %w", err)
	case signature.over || signature.kept.Len() < minSignature:
		return nil, errors.New("the program for signatures did not write an RSA signature")
	}
	return signature.kept.Bytes(), nil
}

// limited keeps the first bytes that are written to it.
type limited struct {
	kept bytes.Buffer
	most int
	over bool // more was written
}

func (l *limited) Write(b []byte) (int, error) {
	room := l.most - l.kept.Len()
	if len(b) > room {
		l.over = true
	}
	l.kept.Write(b[:min(len(b), room)])
	return len(b), nil
}
