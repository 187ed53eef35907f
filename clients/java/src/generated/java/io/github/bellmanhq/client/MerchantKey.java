// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantKey, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param added see the API
 * @param lastFour Empty where it would tell too much of a short one.
 * @param masterKey Id of the master key that it is sealed under.
 * @param until It signs no more from then on; null: it stands.
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
