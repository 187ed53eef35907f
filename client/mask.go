package client

import "strings"

// Masked stands for the value of a header that is a secret.
const Masked = "***"

// MaskHeaders returns a copy of headers, never nil, for showing to somebody: the
// values of those that carry secrets are replaced by [Masked], whatever they
// are. These are Authorization, Proxy-Authorization, Cookie, Set-Cookie and all
// whose name contains token, secret, password, api-key or apikey, in upper or
// lower case. The API and the export mask with it.
func MaskHeaders(headers map[string]string) map[string]string {
	shown := make(map[string]string, len(headers))
	for name, value := range headers {
		if secret(strings.ToLower(name)) {
			value = Masked
		}
		shown[name] = value
	}
	return shown
}

// secret reports whether a header of this name, in lower case, carries a secret.
func secret(name string) bool {
	switch name {
	case "authorization", "proxy-authorization", "cookie", "set-cookie":
		return true
	}
	for _, part := range [...]string{"token", "secret", "password", "api-key", "apikey"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
