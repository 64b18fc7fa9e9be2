// axil_port asks the registers for each access once, and answers it once: in the order of each channel, reads and writes in turn.
module axil_port_formal
  import axi_pkg::*;
#(
    parameter int unsigned Copies = 1
) (
    input logic clk,
    input logic rst,

    input axil_request_t  s_axil_i,
    input axil_response_t s_axil_o,

    input logic                    req_o,
    input logic [Copies-1:0]       write_o,
    input logic [Copies-1:0][15:0] addr_o,
    input logic [31:0]             data_o,
    input logic [31:0]             mask_o,
    input logic                    ack_i,
    input logic [31:0]             data_i,

    input logic        idles,
    input logic        waits,
    input logic        responds,
    input logic        aw_valid_q,
    input logic        w_valid_q,
    input logic        ar_valid_q,
    input logic [15:0] aw_addr_q,
    input logic [15:0] ar_addr_q,
    input logic [31:0] w_data_q,
    input logic [3:0]  w_strb_q
);

  reset_rule u_reset (.*);

  logic write;
  assign write = write_o[0];

  // What a channel takes leaves with a request. One waits in the channel, one in the request.
  function automatic logic [31:0] mask(input logic [3:0] strobes);
    for (int unsigned k = 0; k < 4; k++) mask[8*k+:8] = {8{strobes[k]}};
  endfunction

  logic asks_write, asks_read;
  logic [1:0] addresses, words, reads;

  assign asks_write = req_o && write;
  assign asks_read  = req_o && !write;

  queue_rule #(
      .DataW(14),
      .Depth(2)
  ) u_write_address (
      .clk,
      .rst,
      .push_data_i(s_axil_i.awaddr[15:2]),
      .push_i     (s_axil_i.awvalid && s_axil_o.awready),
      .pop_data_i (addr_o[0][15:2]),
      .pop_i      (asks_write),
      .count_o    (addresses),
      .held_i     (2'(asks_write) + 2'(aw_valid_q)),
      .items_i    ({aw_addr_q[15:2], asks_write ? addr_o[0][15:2] : aw_addr_q[15:2]})
  );

  queue_rule #(
      .DataW(64),
      .Depth(2)
  ) u_write_data (
      .clk,
      .rst,
      .push_data_i({mask(s_axil_i.wstrb), s_axil_i.wdata}),
      .push_i     (s_axil_i.wvalid && s_axil_o.wready),
      .pop_data_i ({mask_o, data_o}),
      .pop_i      (asks_write),
      .count_o    (words),
      .held_i     (2'(asks_write) + 2'(w_valid_q)),
      .items_i    ({mask(w_strb_q), w_data_q, asks_write ? {mask_o, data_o} : {mask(w_strb_q), w_data_q}})
  );

  queue_rule #(
      .DataW(14),
      .Depth(2)
  ) u_read_address (
      .clk,
      .rst,
      .push_data_i(s_axil_i.araddr[15:2]),
      .push_i     (s_axil_i.arvalid && s_axil_o.arready),
      .pop_data_i (addr_o[0][15:2]),
      .pop_i      (asks_read),
      .count_o    (reads),
      .held_i     (2'(asks_read) + 2'(ar_valid_q)),
      .items_i    ({ar_addr_q[15:2], asks_read ? addr_o[0][15:2] : ar_addr_q[15:2]})
  );

  hold_rule #(
      .DataW(2)
  ) u_write_answer (
      .clk,
      .rst,
      .tdata_i (s_axil_o.bresp),
      .tvalid_i(s_axil_o.bvalid),
      .tready_i(s_axil_i.bready)
  );

  hold_rule #(
      .DataW(34)
  ) u_read_answer (
      .clk,
      .rst,
      .tdata_i ({s_axil_o.rresp, s_axil_o.rdata}),
      .tvalid_i(s_axil_o.rvalid),
      .tready_i(s_axil_i.rready)
  );

  // An access: asked for and not answered by the registers, then answered and not taken by the master
  logic open_q, due_q, whole, could_q, writes_wait_q, reads_wait_q, was_write_q;
  logic [31:0] answer_q;
  logic [79:0] asked_q;  // what the request said

  assign whole = addresses != '0 && words != '0;

  always_ff @(posedge clk) begin
    open_q <= (req_o || open_q) && !ack_i;
    if (req_o) {was_write_q, asked_q} <= {write, addr_o[0], mask_o, data_o};
    if (ack_i) {due_q, answer_q} <= {1'b1, data_i};
    if ((s_axil_o.bvalid && s_axil_i.bready) || (s_axil_o.rvalid && s_axil_i.rready)) due_q <= 1'b0;
    could_q <= !req_o && !open_q && !due_q && (whole || reads != '0);
    writes_wait_q <= whole;
    reads_wait_q <= reads != '0;
    if (rst) {open_q, due_q, could_q, was_write_q} <= '0;
  end

  // Whether each channel was ready, and took nothing
  logic aw_ready_q, w_ready_q, ar_ready_q;

  always_ff @(posedge clk) begin
    aw_ready_q <= s_axil_o.awready && !s_axil_i.awvalid;
    w_ready_q  <= s_axil_o.wready && !s_axil_i.wvalid;
    ar_ready_q <= s_axil_o.arready && !s_axil_i.arvalid;
  end

  always_comb begin
    assume (!ack_i || req_o || open_q);
    a_copies : assert (rst || (write_o == {Copies{write}} && addr_o == {Copies{addr_o[0]}}));
    if (rst) a_reset : assert (!s_axil_o.awready && !s_axil_o.wready && !s_axil_o.arready);
    if (!rst) begin
      a_one : assert (!req_o || (!open_q && !due_q));
      if (open_q) a_stays : assert ({write, addr_o[0], mask_o, data_o} == {was_write_q, asked_q});
      a_answers_write : assert (s_axil_o.bvalid == (due_q && was_write_q));
      a_answers_read : assert (s_axil_o.rvalid == (due_q && !was_write_q));
      if (s_axil_o.rvalid) a_answer : assert (s_axil_o.rdata == answer_q);
      a_okay : assert (s_axil_o.bresp == '0 && s_axil_o.rresp == '0);
      if (could_q) a_goes : assert (req_o);
      if (req_o && reads_wait_q && writes_wait_q) a_turn : assert (write != was_write_q);
      if (aw_ready_q) a_ready_address : assert (s_axil_o.awready);
      if (w_ready_q) a_ready_data : assert (s_axil_o.wready);
      if (ar_ready_q) a_ready_read : assert (s_axil_o.arready);
      i_state :
      assert (open_q == waits && due_q == responds &&
          {1'b0, open_q} + {1'b0, due_q} + {1'b0, req_o} + {1'b0, idles} == 2'd1);
      if (!req_o) i_was : assert (write == was_write_q);
      if (could_q) i_could : assert (req_o);
      if (req_o) i_waited : assert (could_q && (write ? writes_wait_q : reads_wait_q));
      if (req_o) i_turn : assert (!(reads_wait_q && writes_wait_q) || write != was_write_q);
    end
  end

endmodule

bind axil_port axil_port_formal #(
    .Copies(Copies)
) u_formal (
    .idles   (state_q == IDLE),
    .waits   (state_q == WAIT),
    .responds(state_q == RESPOND),
    .*
);
