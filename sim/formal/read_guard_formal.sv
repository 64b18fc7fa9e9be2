// read_guard: a reader gets each beat that it asks for once, in order: from the memory the one that it is, or an error. Beats are numbered
// as the reader asks for them, and as the memory is asked for them; one, any, is followed.
module read_guard_formal
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512
) (
    input logic clk,
    input logic rst,

    input logic drain_i,

    input axi_read_request_t  s_axi_i,
    input axi_read_response_t s_axi_o,
    input logic [DataW-1:0]   s_axi_rdata,
    input axi_read_request_t  m_axi_o,
    input axi_read_response_t m_axi_i,
    input logic [DataW-1:0]   m_axi_rdata,

    input logic late_o,
    input logic owes_o,
    input logic left_o,

    input logic [15:0] due_q,
    input logic [15:0] owed_q,
    input logic        answers_q,

    input logic [71:0] data_q,
    input logic [71:0] skid_q,
    input logic        valid_q,
    input logic        skid_valid_q
);

  localparam int unsigned MOST = 512;  // beats that a reader has room for
  typedef logic [15:0] count_t;

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(72)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axi_o.arlen, m_axi_o.araddr}),
      .tvalid_i(m_axi_o.arvalid),
      .tready_i(m_axi_i.arready)
  );

  logic asked, passed, given, came;
  count_t beats, any, asked_q, given_q, passed_q, came_q;
  count_t known_q;  // the followed beat's number as the memory's
  logic is_known_q, is_passed_q;

  assign asked = s_axi_i.arvalid && s_axi_o.arready;
  assign passed = asked && !answers_q;
  assign given = s_axi_o.rvalid;
  assign came = m_axi_i.rvalid;
  assign beats = count_t'(s_axi_i.arlen) + 1'b1;

  logic [1:0] waiting;

  queue_rule #(
      .DataW(72),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i({s_axi_i.arlen, s_axi_i.araddr}),
      .push_i     (passed),
      .pop_data_i ({m_axi_o.arlen, m_axi_o.araddr}),
      .pop_i      (m_axi_o.arvalid && m_axi_i.arready),
      .count_o    (waiting),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  always_ff @(posedge clk) begin
    any <= any;
    if (asked) asked_q <= asked_q + beats;
    if (passed) passed_q <= passed_q + beats;
    given_q <= given_q + count_t'(given);
    came_q <= came_q + count_t'(came);
    if (asked && count_t'(any - asked_q) < beats) begin
      is_known_q <= 1'b1;
      is_passed_q <= passed;
      known_q <= passed_q + (any - asked_q);
    end
    if (given && any == given_q) is_known_q <= 1'b0;
    if (rst) begin
      asked_q <= '0;
      passed_q <= '0;
      given_q <= '0;
      came_q <= '0;
      is_known_q <= 1'b0;
    end
  end

  // The reader has room for what it asks for, and takes it; the memory gives what it was asked for.
  always_comb begin
    assume (s_axi_i.rready);
    assume (!s_axi_i.arvalid || count_t'(asked_q - given_q) + beats <= count_t'(MOST));
    assume (!passed || count_t'(passed_q - came_q) <= count_t'(4 * MOST));
    assume (!came || passed_q != came_q);
  end

  logic gave_up_q;
  always_ff @(posedge clk) gave_up_q <= !rst && (late_o || drain_i);

  always_comb begin
    if (!rst) begin
      if (given) a_asked : assert (asked_q != given_q);
      if (given && any == given_q && !answers_q) begin
        a_its_own : assert (came && is_passed_q && known_q == came_q);
        a_data : assert (s_axi_rdata == m_axi_rdata && s_axi_o.rresp == m_axi_i.rresp);
      end
      if (given && answers_q) a_error : assert (s_axi_o.rresp == 2'b10);
      if (gave_up_q && (late_o || drain_i)) a_takes : assert (s_axi_o.arready);
      if (gave_up_q) a_answers : assert (given == (asked_q != given_q));
      if (!owes_o) a_owes_nothing : assert (passed_q == came_q && asked_q == given_q);
      a_left : assert (left_o == (count_t'(passed_q - came_q) != (answers_q ? '0 : count_t'(asked_q - given_q))));

      i_due : assert (due_q == count_t'(asked_q - given_q));
      i_owed : assert (owed_q == count_t'(passed_q - came_q) - (answers_q ? '0 : due_q));
      i_most : assert (due_q <= count_t'(MOST) && count_t'(passed_q - came_q) <= count_t'(5 * MOST));
      i_own : assert (answers_q || count_t'(passed_q - came_q) >= due_q);
      i_gave_up : assert (!gave_up_q || answers_q);
      if (count_t'(any - given_q) < due_q) begin
        i_known : assert (is_known_q);
        if (!answers_q) i_place : assert (is_passed_q && count_t'(known_q - came_q) == owed_q + count_t'(any - given_q));
      end
    end
  end

endmodule

bind read_guard read_guard_formal #(
    .DataW(DataW)
) u_formal (
    .data_q      (u_ask.data_q),
    .skid_q      (u_ask.skid_q),
    .valid_q     (u_ask.valid_q),
    .skid_valid_q(u_ask.skid_valid_q),
    .*
);
