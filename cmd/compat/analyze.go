package main

import (
	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/sandbox"
)

// analyzeCommand is what the service starts for each analysis; nobody types it.
const analyzeCommand = "analyze"

func newAnalyzeCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use: analyzeCommand, Short: "Judge what the service asks for (internal)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return sandbox.Serve(c.Context(), env.In, env.Out, analyzer.New(rules.All()))
		},
	}
}
