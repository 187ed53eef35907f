package console

import (
	"maps"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/mask"
)

// maxCurlBody is the longest body that is written into a command.
const maxCurlBody = 16 << 10

// curl returns a shell command that sends a task's request to the address to. The body is shown, so
// what is masked on the page is masked here. Signatures are left out, because each attempt makes a
// new one. It returns an empty text if the task is a message to a broker or uses its queue's
// address.
func curl(t *bellman.Task, to, method string, shown shownBody) string {
	if scheme, _, _ := strings.Cut(strings.ToLower(to), "://"); scheme != "http" && scheme != "https" {
		return ""
	}
	parts := []string{"curl -i -X " + quote(method) + " " + quote(maskURL(to))}
	if strings.ContainsAny(to, "[]{}") {
		parts[0] += " -g" // otherwise {1,2} and [1-9] are as many requests
	}
	header := client.MaskHeaders(t.Header)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		parts = append(parts, "-H "+quote(name+": "+header[name]))
	}
	if len(t.Body) > 0 {
		text := string(t.Body)
		if shown.Masked {
			text = shown.Text
			if shown.Kind == "form" {
				text = mask.Form(string(t.Body))
			}
		}
		if shown.Cut || shown.Kind == "binary" || len(text) > maxCurlBody || plain(text) != text {
			parts = append(parts, "--data-binary @body") // the API returns the unmasked body
		} else {
			parts = append(parts, "--data-raw "+quote(text)) // --data-binary would send the file that a body such as @/etc/passwd names
		}
	}
	return strings.Join(parts, " \\\n  ")
}

// quote returns s as one word for a shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
