package sign

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A key made for this test, and what openssl signs with it:
//
//	printf '%s' TEXT | openssl dgst -sha256 -sign KEY | base64
//
// TEXT is app_id=2021000000000000&out_trade_no=O1&subject=茶 &
// more&total_amount=88.88&trade_status=TRADE_SUCCESS.
const (
	rsa2Key = "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDnXyWnjOVhZkYd0JV8EfgM2mEMGEe6Ij7l9PDAT8AeSgusmithJVSTYFRkSi" +
		"Gs2GK2cYOMP1EHQU74pmzZPOVVQpBuUyv813U2+o8urksJH4HnLox3TPnV0bbUZJpYjkqzI2FujBqasi81NToGhzT+j4P252miF9V+TS72Vfjk" +
		"sxZtBZXJ/41Z/+1odZWWVxsqMFehzI2TXtt7cB/oDQwFLgtHnL8srepBMUUerDsVqD68wpsE+fGypKg+WnYzrdQlQHwGDOedFBF7+cYo/EcYgz" +
		"UCgrwVNqGG1Zu7NTyJdW9h6uKQayWaZ/s11j7CTo+eTWWBIzY7hDwKK7pWVkENAgMBAAECggEAS8etFJCgPGN8CZ3cqBNWlBcefBCjxYIb6cNs" +
		"6v/z47fK1RB1rs7EQbTmTya8mtkQk8LgHBpM1rx8OhKASjKYxnETzx6spJaJDKXKKbbqWqWYLXjght6OYYrbf/snVmPccYngCo4W1J4RujKhu6" +
		"ujHtEwnriyr2VxBnoPLJ2B9J1X9yu8Zh4ZzTcJZpEj1jjm34crSD2cyGaFDAlYEQblfGqps7TIwXVjryDbnYHHy8cS++/ntn+7ObDA9jaB0ttm" +
		"7SmbE/n8im2kATzrSQBiKttCD115QJgpYzrvJKcElJ7BanhJAXTKw6zD5uj1M9kJM71yj/UknVx1/Ku3k0jt/QKBgQD6uiZJF/D9/GJVnFGNgl" +
		"+rYMbHttE94mln5uU4Sp+cJ1LV4DW/w82Ld3U+AwCw7ezP9mfwEyG3Sg7MJv+BBwYCqzPQAv07/GWT1weuj9Zn3LDNizZUy+gWxTxjjl1/ChX7" +
		"aAlXOL328O47prN/XxymY30NPKI3T7qgEl3mCpOGbwKBgQDsPMrpHKYlOp0Soc66q+BJUau+djMgZBn9FbyNlxI3wtpoevGi8QO02shi9fdN7q" +
		"Resqo+rA7atMV8Z/vqdc8wm1qDOorBrLOEwP9ZHGDDNCwIMMiDmUrMHsBw3cHE31QfXhohHgC8ZtAKb9exiAVUYQ3VaxbbIsd7cXHftaAOQwKB" +
		"gQCjtALnWpBo5O63gvbkdClO1kMzhrQbucakpmcnV+HarPoy1s+BQ7DizL5qHL/IxbAHIJVAdN1gtSPwO847SoCsIWgU+r6o+eTAoHdNjHCrI7" +
		"b0nV5+AxyoMWN6hSualNVBbu4aWtv9bdW+cNtl4I3uPasah2pKvu3VMejJGEK2VQKBgACFzekgIBn6/Df7VarCEJf470lXl5tdvVT7BFTH3clz" +
		"y+npQ7mZkOmIhmL5qldozMJM4OWMmefP+JPi4wLMye2Qmm2p5n6xNCB6ENaQooIsDmDiQr9PyoOTGdfmFbSqzdPX8HTcTSIdlB5ByxdgdqqOIG" +
		"q1dvJ7LDfQs3DMRRNjAoGBAKZT3Fd6zcKeC+t+b3LwhV3hyslfd//Hml8rGcsANQnqzpSOcCSfUEjOIzRYQICP/b7l8DNyAALjl2OekbRT3BOb" +
		"iXRiFsqMJzT3Xq+z9riwvncbEDv6cCQalB/VqZNzrsd676POZHaLqsFcn9+enuvTJZzMtluooOji4MM6p0sh"
	rsa2Signature = "0D6qp0JmQE45Jln51X66rE1msSfelSq/1VCw8e+gJPcrLa0sQMkyX8Qq6dFIWKJX0ZdruHE7Q19WAG2uTalvTxTe3IXiIlGgMzZWMOFeetKtxS" +
		"tlasF7pH/thIw21chbcYFROJCrOV/qIjFaoHoqKY40u1/lE7tVmPW2ZpxWZrQF8/4DEr5DIgYIQ9Iy64zDDFYo9TgwCrtlU1Y82bGy3qrAwfxs" +
		"Y/MNQqtiVSiQVAUA3m/vU09Mjp3m72LlhRbDMFuvEIzKIO5LUQvcHWPgE/fnrxSSwEUojhYI5VuMlDV6sXq9axjY2YcM5x6xFPyyk8v+0lhdeG" +
		"M/CctNEgmngQ=="
)

func TestRSA2(t *testing.T) {
	s := newSigner(t, RSA2, rsa2Key)
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	escaped := url.QueryEscape(rsa2Signature)
	const rest = "trade_status=TRADE_SUCCESS&out_trade_no=O1&app_id=2021000000000000&subject=%E8%8C%B6+%26+more&total_amount=88.88"
	for name, tt := range map[string]struct{ body, query, wantBody, wantQuery string }{
		"form":                          {body: rest, wantBody: rest + "&sign_type=RSA2&sign=" + escaped},
		"query":                         {query: rest, wantQuery: rest + "&sign_type=RSA2&sign=" + escaped},
		"signed before, an empty field": {body: "sign=old&empty=&" + rest + "&sign_type=RSA", wantBody: rest + "&sign_type=RSA2&sign=" + escaped},
	} {
		m := &Message{Header: form, Body: []byte(tt.body), Query: tt.query}
		if err := s.Sign(m); err != nil || string(m.Body) != tt.wantBody || m.Query != tt.wantQuery {
			t.Errorf("%s: %v\n got %s %s\nwant %s %s", name, err, m.Body, m.Query, tt.wantBody, tt.wantQuery)
		}
	}
	m := &Message{Header: http.Header{}, Body: []byte(`{"app_id":"2021000000000000","out_trade_no":"O1","subject":"茶 & more","total_amount":"88.88","trade_status":"TRADE_SUCCESS"}`)}
	if err := s.Sign(m); err != nil || !strings.HasSuffix(string(m.Body), `,"sign_type":"RSA2","sign":"`+rsa2Signature+`"}`) {
		t.Errorf("JSON: %s, %v", m.Body, err)
	}
}

// The signatures are those of printf '%s' TEXT | md5sum.
func TestMD5Key(t *testing.T) {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	tests := []struct{ params, body, text, want string }{
		{"", "b=1&A=2", "A=2&b=1&key=KEY", "sign=87C27BDE8BA5908342755EB47ABD07CD"},
		{"order=given", "b=1&A=2", "b=1&A=2&key=KEY", "sign=8B133ADF6516E56E589BAEA72C80FC0F"},
		{"order=ignore_case key=none case=lower name=hash", "b=1&hash=old&A=2", "A=2&b=1KEY", "hash=51395c76ebf6508b27824d29a2d69825"},
		{"order=given empty=keep", "b=1&A=2&empty=", "b=1&A=2&empty=&key=KEY", "sign=5A8F12F9B42669ADEEED1B06934BB9CC"},
		{"preset=roncoo order=given fields=amount,orderid,memberid case=lower", "memberid=M1&note=x&orderid=O1&amount=990", "amount=990&orderid=O1&memberid=M1&paySecret=KEY", "sign=78561dcc162f2ff1f9d0dc7754929b89"},
		{"empty=keep", "c=+&b=&A=2", "A=2&b=&c= &key=KEY", "sign=2F133884E06F58D4E858023E61AE4C5C"},
	}
	for _, tt := range tests {
		p, err := ParseParams(tt.params)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Config{Scheme: MD5Key, Secrets: []Secret{NewSecret("KEY")}, Params: p})
		if err != nil {
			t.Fatal(err)
		}
		m := &Message{Header: form, Body: []byte(tt.body)}
		if err := s.Sign(m); err != nil || !strings.Contains(string(m.Body), tt.want) {
			t.Errorf("%q signs %s as %s, %v; want %s of %s", tt.params, tt.body, m.Body, err, tt.want, tt.text)
		}
	}

	// The presets are what the platforms' own schemes sign.
	for preset, scheme := range map[string]string{"jeepay": JeepayMD5, "roncoo": RoncooMD5} {
		s, err := New(Config{Scheme: MD5Key, Secrets: []Secret{NewSecret("KEY")}, Params: Params{Preset: preset}})
		if err != nil {
			t.Fatal(err)
		}
		a := &Message{Header: form, Body: []byte("payOrderId=P1&Param=x&B=3&a=2&a1=1&blank=+")}
		b := &Message{Header: form, Body: a.Body}
		if s.Sign(a) != nil || newSigner(t, scheme, "KEY").Sign(b) != nil || string(a.Body) != string(b.Body) {
			t.Errorf("%s: %s; want %s", preset, a.Body, b.Body)
		}
	}

	m := &Message{Header: http.Header{"Content-Type": {"text/xml; charset=utf-8"}},
		Body: []byte("<?xml version=\"1.0\"?>\n<xml><return_code><![CDATA[SUCCESS]]></return_code> <sign>OLD</sign><total_fee>8888</total_fee><out_trade_no>O1</out_trade_no></xml>")}
	const want = "<?xml version=\"1.0\"?>\n<xml><return_code><![CDATA[SUCCESS]]></return_code><total_fee>8888</total_fee><out_trade_no>O1</out_trade_no><sign>CBF032CFFD2C1E12EDD7C258C60E8962</sign></xml>"
	if err := newSigner(t, MD5Params, "KEY").Sign(m); err != nil || string(m.Body) != want {
		t.Errorf("XML: %v, %s; want %s", err, m.Body, want)
	}
	for _, body := range []string{"<xml></xml>", "<xml><a><b>1</b></a></xml>", "<xml><a>1</a>", "<!DOCTYPE x><xml><a>1</a></xml>", "<xml a='>'><a>1</a></xml>", "<xml>x<a>1</a></xml>", "x", "<xml><a>1</a><a>2</a></xml>"} {
		if err := newSigner(t, MD5Params, "KEY").Check(&Message{Header: m.Header, Body: []byte(body)}); err == nil {
			t.Errorf("%s can be signed", body)
		}
	}
}

func TestParamsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"order": "want NAME=VALUE", "order=": "want NAME=VALUE", "sort=given": "want each of preset", "order=given order=given": "at most once",
		"fields=a fields=b": "at most once", "preset=epay": "want jeepay or roncoo", "order=random": "order: \"random\"", "case=mixed": "case: ", "empty=drop": "empty: ",
		"fields=a,,b": "fields: ", "fields=a,a": "fields: ", "fields=sign": "fields: ",
	} {
		p, err := ParseParams(text)
		if err == nil {
			_, err = New(Config{Scheme: MD5Key, Secrets: []Secret{NewSecret("KEY")}, Params: p})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	for want, c := range map[string]Config{
		"params: only md5_key": {Scheme: MD5Params, Params: Params{Order: "given"}}, "header: only t_v1": {Scheme: MD5Key, Header: "X-Sig"},
		"header: \"X Sig\"": {Scheme: TV1, Header: "X Sig"}, "header: \"content-type\"": {Scheme: TV1, Header: "content-type"}, "header: \"Bellman-Task\"": {Scheme: TV1, Header: "Bellman-Task"},
		"secrets[0]: want an RSA": {Scheme: RSA2},
	} {
		c.Secrets = []Secret{NewSecret("KEY")}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

// The sums are those of printf '%s' 1795187045.BODY | openssl dgst -sha256 -hmac SECRET.
func TestTV1(t *testing.T) {
	at := time.Unix(1795187045, 0)
	m := &Message{Time: at, Header: http.Header{}, Body: []byte(body)}
	if err := newSigner(t, TV1, "whsec_new_secret", "whsec_old_secret").Sign(m); err != nil {
		t.Fatal(err)
	}
	const want = "t=1795187045,v1=90c806b40cabb31a09dd8e8e6f9643c062f59dc9b3df49bca44352fb9010cdea,v1=5bb4f064170d79e4824be45c9af2a80dd255c34fa580d11012ec738d81b128ae"
	if got := m.Header.Get("Stripe-Signature"); got != want {
		t.Errorf("signed %s; want %s", got, want)
	}
	for _, secret := range []string{"whsec_new_secret", "whsec_old_secret"} {
		if err := newVerifier(t, Stripe, "", secret).Verify(m.Header, m.Body, at.Add(time.Minute)); err != nil {
			t.Errorf("with %s: %v", secret, err)
		}
	}
	s, err := New(Config{Scheme: TV1, Header: "x-signature", Secrets: []Secret{NewSecret("k")}})
	if err != nil || len(s.Headers()) != 1 || s.Headers()[0] != "X-Signature" {
		t.Errorf("a header of its own: %v, %v", s, err)
	}
}
