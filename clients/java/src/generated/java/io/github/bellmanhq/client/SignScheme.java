// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

/** A value of the API, or {@link #UNRECOGNIZED}. */
public enum SignScheme implements Value {
    STANDARD_WEBHOOKS("standard_webhooks"),
    WECHAT_RSA("wechat_rsa"),
    MD5_PARAMS("md5_params"),
    HMAC_SHA256_PARAMS("hmac_sha256_params"),
    JEEPAY_MD5("jeepay_md5"),
    RONCOO_MD5("roncoo_md5"),
    MD5_KEY("md5_key"),
    RSA2("rsa2"),
    T_V1("t_v1"),
    /** What a newer server says that this client does not know. It cannot be sent. */
    UNRECOGNIZED("");

    private final String value;

    SignScheme(String value) {
        this.value = value;
    }

    /** As it stands in JSON; empty: UNRECOGNIZED. */
    @Override
    public String value() {
        return value;
    }

    static SignScheme of(Object json) {
        for (var v : values()) {
            if (v.value.equals(json)) return v;
        }
        return UNRECOGNIZED;
    }
}
