// Stands between a reader and its memory, which may stop for good. When the memory has owed data for too long, or as long as it is told
// to, it answers for it, each beat with an error, so that the reader comes to its end. What the memory gives later is swallowed; a
// request that it was offered stays on offer. The reader never makes its data wait. A cycle of latency for requests, none for data.
module read_guard
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned UnitW = 16   // the limit is in 2^UnitW cycles
) (
    input logic clk,
    input logic rst,

    input logic [15:0] limit_i,  // without a move of the memory; 0: never
    input logic        drain_i,

    // The reader
    input  axi_read_request_t              s_axi_i,
    output axi_read_response_t             s_axi_o,
    output logic               [DataW-1:0] s_axi_rdata,

    // The memory
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata,

    output logic late_o,  // the limit has passed, and the memory owes data since
    output logic owes_o,  // the memory owes data
    output logic left_o,  // and nobody waits for them, whoever has given them up
    output logic fired_o  // pulse: late from now on
);

  localparam logic [1:0] SLVERR = 2'b10;
  localparam int unsigned COUNT_W = 16;

  typedef logic [COUNT_W-1:0] count_t;
  typedef struct packed {
    logic [7:0]  len;
    logic [63:0] address;
  } ask_t;

  count_t due_q, due;  // beats that the reader waits for
  count_t all_q, all;  // beats that the memory owes, whoever waits for them
  count_t owed, owed_q;  // those that nobody waits for: all, while it answers. What was due then is given up
  logic answers_q, answers, gives_up, asked, given, came, ar_ready, ar_valid, late;
  ask_t ask;

  assign asked = s_axi_i.arvalid && s_axi_o.arready;
  assign came = m_axi_i.rvalid;
  assign given = s_axi_o.rvalid;

  // Beats after a request and a beat, in one sum: with a bit below it, for the carry in.
  function automatic count_t after(input count_t count, input logic more, input logic [7:0] len, input logic less);
    return count_t'(({count, 1'b1} + {more ? count_t'(len) : {COUNT_W{less}}, more && !less}) >> 1);
  endfunction

  assign due = after(due_q, asked, s_axi_i.arlen, given);
  assign all = after(all_q, asked && !answers_q, s_axi_i.arlen, came);
  assign owed = answers_q ? all_q : owed_q;
  assign gives_up = late || drain_i;
  // As long as anything is due: while it answers, a beat of that is given in each cycle.
  assign answers = gives_up || fired_o || (answers_q && (asked || due_q[COUNT_W-1:1] != '0));

  always_ff @(posedge clk) begin
    answers_q <= answers;
    due_q <= due;
    all_q <= all;
    owed_q <= answers_q ? all : owed_q - count_t'(came && owed_q != '0);
    if (rst) begin
      answers_q <= 1'b0;
      due_q <= '0;
      all_q <= '0;
      owed_q <= '0;
    end
  end

  axis_reg #(
      .DataW($bits(ask_t))
  ) u_ask (
      .clk,
      .rst,
      .s_axis_tdata ({s_axi_i.arlen, s_axi_i.araddr}),
      .s_axis_tvalid(s_axi_i.arvalid && !answers_q),
      .s_axis_tready(ar_ready),
      .m_axis_tdata (ask),
      .m_axis_tvalid(ar_valid),
      .m_axis_tready(m_axi_i.arready)
  );

  watchdog #(
      .UnitW(UnitW)
  ) u_watchdog (
      .clk,
      .rst,
      .limit_i,
      .waits_i(!answers_q && (due_q != '0 || owed != '0)),
      .moves_i(came || (ar_valid && m_axi_i.arready)),
      .over_i (owed == '0 && !ar_valid),
      .late_o (late),
      .fired_o
  );

  assign late_o = late;
  assign owes_o = due_q != '0 || owed != '0;
  assign left_o = owed != '0;

  always_comb begin
    m_axi_o = s_axi_i;  // what is constant: size, kind, protection
    m_axi_o.araddr = ask.address;
    m_axi_o.arlen = ask.len;
    m_axi_o.arvalid = ar_valid;
    m_axi_o.rready = 1'b1;
    s_axi_o.arready = answers_q ? gives_up : ar_ready;
    s_axi_o.rvalid = answers_q ? due_q != '0 : came && owed_q == '0;
    s_axi_o.rresp = answers_q ? SLVERR : m_axi_i.rresp;
    s_axi_o.rlast = m_axi_i.rlast;
    s_axi_rdata = m_axi_rdata;
  end

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || !given || s_axi_i.rready)
    else $error("%m: the reader made data wait");
    assert (rst || !came || owed != '0 || due_q != '0)
    else $error("%m: data came that were not asked for");
  end
`endif

endmodule
