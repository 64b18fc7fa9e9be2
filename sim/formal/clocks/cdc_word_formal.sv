// cdc_word takes a value, brings it out, and then takes the next: at any phases and rates of the two clocks, which the solver chooses. Each
// synchronizer catches what is there at its edge. Values that are taken are numbered modulo 4.
module cdc_word_formal #(
    parameter int unsigned Width = 8
) (
    input logic             s_clk,
    input logic [Width-1:0] word_i,

    input logic             m_clk,
    input logic [Width-1:0] word_o,

    input logic [Width-1:0] hold_q,
    input logic asked_q,
    input logic asked_meta,
    input logic asked,
    input logic answered_q,
    input logic answered_meta,
    input logic answered
);

  logic [Width-1:0] offered_q = '0;  // word_i at the last edge
  logic [Width-1:0] seen_q = '0;     // hold_q at the last edge of the other clock
  logic [1:0] taken_q = '0;
  logic [1:0] given_q = '0;
  logic [1:0] m_wait_q = '0;  // edges since it was taken, and since it came out
  logic [1:0] s_wait_q = '0;
  logic begun_q = 1'b0;
  logic takes, took_q, gives, free;

  assign takes = asked_q == answered && word_i != hold_q;
  assign gives = asked != answered_q;
  assign free  = asked_q == answered;  // the next one may be taken

  logic freed_q = 1'b0;

  always_ff @(posedge s_clk) begin
    begun_q <= 1'b1;
    offered_q <= word_i;
    took_q <= takes;
    freed_q <= free;
    taken_q <= taken_q + 2'(takes);
    s_wait_q <= free || taken_q != given_q ? '0 : s_wait_q + 1'b1;
  end

  logic [Width-1:0] before_q = '0;  // word_o before the last edge
  logic gave_q = 1'b0;

  always_ff @(posedge m_clk) begin
    before_q <= word_o;
    gave_q <= gives;
    seen_q <= hold_q;
    if (gives) given_q <= given_q + 1'b1;
    m_wait_q <= gives || taken_q == given_q ? '0 : m_wait_q + 1'b1;
  end

  logic [5:0] ring;  // the turn of asked_q goes round: it is at one place at most
  assign ring = {asked_q, asked_meta, asked, answered_q, answered_meta, answered};

  always_comb begin
    if (gives) a_settled : assert (hold_q == seen_q && !free);
    if (!gave_q) a_stays : assert (word_o == before_q);
    a_once : assert (taken_q == given_q || (taken_q == 2'(given_q + 1'b1) && !free));
    if (taken_q == given_q) a_word : assert (word_o == hold_q);
    if (gives) a_gives_what_was_taken : assert (taken_q != given_q);
    if (begun_q && took_q) a_whole : assert (hold_q == offered_q);
    if (begun_q && freed_q) a_last : assert (hold_q == offered_q);
    a_arrives : assert (m_wait_q <= 2'd2);
    a_returns : assert (s_wait_q <= 2'd1 || free);
    i_ring : assert ($onehot0(ring[5:1] ^ ring[4:0]));
    i_given : assert ((taken_q == given_q) == (asked_q == answered_q));
    if (taken_q != given_q) i_m_wait : assert (m_wait_q == 2'(asked_meta == asked_q) + 2'(asked == asked_q));
    if (taken_q == given_q) i_m_rest : assert (m_wait_q == '0);
    if (taken_q != given_q) i_s_rest : assert (s_wait_q == '0);
    if (taken_q == given_q && !free) i_s_wait : assert (s_wait_q == 2'(answered_meta == answered_q));
    if (taken_q != given_q && m_wait_q != '0) i_seen : assert (seen_q == hold_q);
  end

endmodule

bind cdc_word cdc_word_formal #(
    .Width(Width)
) u_formal (
    .asked_meta   (u_asked.meta_q),
    .answered_meta(u_answered.meta_q),
    .*
);
