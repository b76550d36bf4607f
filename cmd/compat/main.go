// Command compat reviews binary artifacts for dependency compatibility: locally (check), in CI,
// and as a GitHub App (serve).
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	// Sampling allocations takes a megabyte, and only compat serve has profiles (internal/admin).
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		runtime.MemProfileRate = 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(
		run(
			ctx,
			os.Args[1:],
			environment{Getenv: os.LookupEnv, Environ: os.Environ, In: os.Stdin, Out: os.Stdout,
				Err: os.Stderr},
		),
	)
}
