package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// assetsPath is the path of the assets. It contains a hash of all of them, so browsers may cache
// them forever and still get the new ones after an upgrade.
var assetsPath = "/assets/" + hashOf(assets) + "/"

func hashOf(files fs.FS) string {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		h.Write([]byte(name))
		h.Write(data)
		return err
	})
	if err != nil {
		panic(err) // cannot happen: the files are embedded
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

func asset(name string) string { return assetsPath + name }

// contentTypes are the types of the assets. The table of the operating system is not used.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	name, ours := strings.CutPrefix(r.URL.Path, assetsPath)
	kind := contentTypes[path.Ext(name)]
	data, err := assets.ReadFile("assets/" + name)
	if !ours || kind == "" || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Vary", "Accept-Encoding")
	w.Write(data) // an error means that the browser has left
}
