package account

import "testing"

// A former key is kept where it can still decrypt or verify what was made with it, and nowhere
// else.
func TestLasts(t *testing.T) {
	for field, want := range map[string]bool{
		apiV3Key: true, alipayPublicKeys: true, platformKey + "PUB_KEY_ID_1": true, platformKeys: false,
		privateKey: false, certificate: false, appAuthToken: false, appCertificate: false, rootCertificates: false,
	} {
		if got := lasts(field); got != want {
			t.Errorf("lasts(%s) = %t; want %t", field, got, want)
		}
	}
}

// Orders of a seller with an app_auth_token are another account's than those of the application
// itself.
func TestIdentityWithAToken(t *testing.T) {
	own := Account{Channel: "alipay", AppID: "1", SellerID: "2"}
	seller := own
	seller.Token = true
	if a, b := own.reach().Identity(), seller.reach().Identity(); a == b {
		t.Errorf("both are %s; want two accounts", a)
	}
}
