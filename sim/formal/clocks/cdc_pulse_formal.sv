// cdc_pulse gives what went in two edges of its clock before, a pulse a cycle: at any phases and rates of the two clocks, which the solver
// chooses. Each synchronizer catches what is there at its edge. Pulses are counted modulo twice of what may wait.
module cdc_pulse_formal #(
    parameter int unsigned Width = 8
) (
    input logic s_clk,
    input logic pulse_i,

    input logic m_clk,
    input logic pulse_o,

    input logic [Width-1:0] sent_q,
    input logic [Width-1:0] given_q,
    input logic [Width-1:0] gray,  // on their way
    input logic [Width-1:0] meta,
    input logic [Width-1:0] sync
);

  typedef logic [Width:0] count_t;

  function automatic logic [Width-1:0] code(input count_t count);
    return count[Width-1:0] ^ (count[Width-1:0] >> 1);
  endfunction

  count_t in_q = '0;
  count_t out_q = '0;
  count_t before_q = '0;  // what had gone in at the last edge, and at the one before
  count_t known_q = '0;
  count_t waits;
  logic [Width-1:0] gray_q = '0;

  assign waits = in_q - out_q;

  always_ff @(posedge s_clk) begin
    in_q   <= in_q + count_t'(pulse_i);
    gray_q <= gray;
  end

  always_ff @(posedge m_clk) begin
    out_q <= out_q + count_t'(pulse_o);
    before_q <= in_q;
    known_q <= before_q;
  end

  always_comb begin
    assume (!pulse_i || waits != count_t'(2 ** Width - 1));
    a_most : assert (waits < count_t'(2 ** Width));
    if (pulse_o) a_none_made : assert (waits != '0);
    a_each : assert (pulse_o == (known_q != out_q));
    a_one_bit : assert ($onehot0(gray ^ gray_q));
    i_sent : assert (sent_q == in_q[Width-1:0] && given_q == out_q[Width-1:0]);
    i_codes : assert (gray == code(in_q) && meta == code(before_q) && sync == code(known_q));
    i_known : assert (count_t'(known_q - out_q) <= count_t'(before_q - out_q));
    i_before : assert (count_t'(before_q - out_q) <= waits);
    i_step : assert (gray_q == code(in_q) || gray_q == code(in_q - 1'b1));
  end

endmodule

bind cdc_pulse cdc_pulse_formal #(
    .Width(Width)
) u_formal (
    .gray(u_sent.gray_q),
    .meta(u_sent.u_bits.meta_q),
    .sync(u_sent.u_bits.sync_q),
    .*
);
