package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/client"
)

// secretNames are those of fields, in bodies and queries, whose values are not
// shown: in lower case, without - and _.
var secretNames = []string{
	"password", "passwd", "pwd", "secret", "clientsecret", "appsecret", "token", "accesstoken", "refreshtoken",
	"apikey", "privatekey", "authorization", "cvv", "cvv2", "cvc", "pin",
}

// secretName reports whether the value of a field with this name is kept back.
func secretName(name string) bool {
	name = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
	return slices.Contains(secretNames, name)
}

// maskURL is an address without what lets somebody in: the user and password in
// it, and the values of a query's secret fields.
func maskURL(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil { // then nothing in it can be told apart
		return plain(maskRoughly(address))
	}
	if u.User == nil && !strings.ContainsRune(address, '?') {
		return plain(address)
	}
	rest, fragment, hasFragment := strings.Cut(address, "#")
	rest, raw, asks := strings.Cut(rest, "?")
	if u.User != nil {
		scheme, after, _ := strings.Cut(rest, "//")
		host := after
		path := ""
		if i := strings.IndexByte(after, '/'); i >= 0 {
			host, path = after[:i], after[i:]
		}
		host = host[strings.LastIndexByte(host, '@')+1:]
		rest = scheme + "//" + client.Masked + "@" + host + path
	}
	if asks {
		rest += "?" + maskForm(raw)
	}
	if hasFragment {
		rest += "#" + fragment
	}
	return plain(rest)
}

// maskRoughly masks what stands before an @ in what is no address.
func maskRoughly(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return client.Masked + s[i:]
	}
	return s
}

// maskForm masks the secret fields of a form or query as it stands.
func maskForm(raw string) string {
	fields := strings.Split(raw, "&")
	for i, f := range fields {
		name, value, has := strings.Cut(f, "=")
		if plainName, err := url.QueryUnescape(name); err == nil && has && value != "" && secretName(plainName) {
			fields[i] = name + "=" + client.Masked
		}
	}
	return strings.Join(fields, "&")
}
