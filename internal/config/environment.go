package config

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/internal/nearest"
)

const prefix = "BELLMAN_"

// program are variables that the program reads and that are no settings.
var program = []string{"BELLMAN_CONFIG", "BELLMAN_KEY", "BELLMAN_PPROF", "BELLMAN_SERVER"}

// variable returns the environment variable of a setting.
func variable(setting string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}

var (
	// mention matches a variable that a configuration names as the place of a secret.
	mention = regexp.MustCompile(`\benv:(BELLMAN_\w+)`)

	// cluster matches variables that Kubernetes, and Docker with links, set for a service named
	// bellman or bellman-something.
	cluster = regexp.MustCompile(`^BELLMAN_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)
)

// mentions adds the variables in a text to the known ones.
func (c *Config) mentions(text string) {
	for _, found := range mention.FindAllStringSubmatch(text, -1) {
		c.secrets = append(c.secrets, found[1])
	}
}

// CheckNames returns Problems for unknown variables that begin with BELLMAN_: they are neither
// settings nor variables of the program, and neither c nor another variable names them as the place
// of a secret. This finds misspelt variables. environ is [os.Environ].
func (c *Config) CheckNames(environ []string) error {
	named := Config{secrets: slices.Clone(c.secrets)}
	var given []string
	for _, v := range environ {
		if name, text, _ := strings.Cut(v, "="); strings.HasPrefix(name, prefix) {
			given = append(given, name)
			named.mentions(text)
		}
	}
	known := slices.Concat(program, named.secrets)
	for _, f := range configFields {
		known = append(known, variable(f.name))
	}
	slices.Sort(given)
	var ps Problems
	for _, name := range given {
		if !slices.Contains(known, name) && !cluster.MatchString(name) {
			ps = append(ps, Problem{Source: name, Text: "means nothing here: want " + nearest.Of(name, math.MaxInt-1, known...) +
				", or, for a secret, a name that the configuration has as env:NAME"})
		}
	}
	return ps.Err()
}
