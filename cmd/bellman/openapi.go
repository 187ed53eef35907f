package main

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/internal/api"
)

func openapiCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of the HTTP API",
		Long: `Print the OpenAPI 3.1 document of the HTTP API, for generating clients without a
server. A server has it at /openapi.json.`,
		Args: flagsAlone,
		RunE: func(c *cobra.Command, _ []string) error {
			doc, err := api.Document(version)
			if err != nil {
				return err
			}
			var out bytes.Buffer
			if err := json.Indent(&out, doc, "", "  "); err != nil {
				return err
			}
			out.WriteByte('\n')
			_, err = out.WriteTo(c.OutOrStdout())
			return err
		},
	}
}
