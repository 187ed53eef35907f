// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantKey, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param added see the API
 * @param lastFour Empty if the secret is so short that this would reveal too much of it.
 * @param masterKey Id of the master key that seals it.
 * @param until End of its use for signing; null: no end.
 */
public record MerchantKey(
        Instant added,
        String lastFour,
        String masterKey,
        Instant until) {
    static MerchantKey of(Object json) {
        var r = Shape.Reader.of("MerchantKey", json);
        return new MerchantKey(
                r.time("added"),
                r.text("last_four"),
                r.text("master_key"),
                r.time("until"));
    }
}
