// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ShownMerchantSign, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param keys The same with their times.
 * @param scheme see the API
 * @param secrets Signing secrets, the newest first: three stars and the last four characters. In an export, sealed:….
 * @param header see the API
 * @param params see the API
 * @param serial see the API
 */
public record ShownMerchantSign(
        List<MerchantKey> keys,
        String scheme,
        List<String> secrets,
        String header,
        String params,
        String serial) {
    static ShownMerchantSign of(Object json) {
        var r = Shape.Reader.of("ShownMerchantSign", json);
        return new ShownMerchantSign(
                r.list("keys", MerchantKey::of),
                r.text("scheme"),
                r.list("secrets", String.class::cast),
                r.text("header"),
                r.text("params"),
                r.text("serial"));
    }
}
