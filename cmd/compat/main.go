// Command compat reviews binary artifacts for dependency compatibility: locally (check), in CI,
// and as a GitHub App (serve).
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// interruptTime is how long a command that was interrupted may take to end by itself.
const interruptTime = 2 * time.Second

func main() {
	// Sampling allocations takes a megabyte, and only compat serve has profiles (internal/admin).
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		runtime.MemProfileRate = 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		// Reading a pipe or a device may wait forever, and does not end with ctx.
		context.AfterFunc(ctx, func() { time.Sleep(interruptTime); os.Exit(exitUsage) })
	}
	os.Exit(
		run(
			ctx,
			os.Args[1:],
			environment{Getenv: os.LookupEnv, Environ: os.Environ, In: os.Stdin, Out: os.Stdout,
				Err: os.Stderr, Program: os.Args[0]},
		),
	)
}
