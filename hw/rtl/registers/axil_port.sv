// An AXI4-Lite port for the generated registers: one access at a time, reads and writes in turn where both wait.
// Every access is answered with OKAY. Requests leave from registers, so that no long path begins in the bus.
// Their kind and address are there in several copies, always equal, for a reader that would load one too much, and so is what is
// written of each half byte.
module axil_port
  import axi_pkg::*;
#(
    parameter int unsigned Copies = 1
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    // The registers: a request for one cycle, answered in that cycle or later
    output logic                    req_o,
    output logic [Copies-1:0]       write_o,
    output logic [Copies-1:0][15:0] addr_o,
    output logic [31:0]             data_o,
    output logic [31:0]             mask_o,   // bits that are written; of a read anything
    input  logic                    ack_i,
    input  logic [31:0]             data_i
);

  typedef enum logic [1:0] {
    IDLE,     // until a read, or both halves of a write, have come
    REQUEST,
    WAIT,     // for the answer
    RESPOND   // until it is taken
  } state_e;

  state_e state_q, state_d;
  logic aw_valid_q, w_valid_q, ar_valid_q, write_q, begin_write, begin_read;
  logic [15:0] aw_addr_q, ar_addr_q, addr;
  (* keep, dont_merge *)logic [Copies-1:0] writes_q;
  (* keep, dont_merge *)logic [Copies-1:0][15:2] addrs_q;
  logic [31:0] w_data_q, read_data_q;
  logic [3:0] w_strb_q;
  (* keep, dont_merge *)logic [7:0] strobes_q;  // of half a byte each

  // One of each channel waits here.
  assign begin_write = state_q == IDLE && aw_valid_q && w_valid_q && !(ar_valid_q && write_q);
  assign begin_read = state_q == IDLE && ar_valid_q && !begin_write;
  assign addr = begin_write ? aw_addr_q : ar_addr_q;
  assign write_q = writes_q[0];

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (begin_write || begin_read) state_d = REQUEST;
      REQUEST: state_d = ack_i ? RESPOND : WAIT;
      WAIT: if (ack_i) state_d = RESPOND;
      RESPOND: if (write_q ? s_axil_i.bready : s_axil_i.rready) state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (s_axil_o.awready) aw_addr_q <= s_axil_i.awaddr;
    if (s_axil_o.arready) ar_addr_q <= s_axil_i.araddr;
    if (s_axil_o.wready) begin
      w_data_q <= s_axil_i.wdata;
      w_strb_q <= s_axil_i.wstrb;
    end
    aw_valid_q <= s_axil_o.awready ? s_axil_i.awvalid : !begin_write;
    w_valid_q  <= s_axil_o.wready ? s_axil_i.wvalid : !begin_write;
    ar_valid_q <= s_axil_o.arready ? s_axil_i.arvalid : !begin_read;
    if (state_q == IDLE) data_o <= w_data_q;
    // A copy asks whether it changes: tools make one of equal ones.
    for (int unsigned c = 0; c < Copies; c++) begin
      if ((begin_write || begin_read) && addrs_q[c] != addr[15:2]) addrs_q[c] <= addr[15:2];
      if ((begin_write || begin_read) && writes_q[c] != begin_write) writes_q[c] <= begin_write;
    end
    for (int unsigned k = 0; k < 8; k++) begin
      if (begin_write && strobes_q[k] != w_strb_q[k/2]) strobes_q[k] <= w_strb_q[k/2];
    end
    if (ack_i) read_data_q <= data_i;
    if (rst) begin
      state_q <= IDLE;
      aw_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      ar_valid_q <= 1'b0;
      writes_q <= '0;
      addrs_q <= '0;
      strobes_q <= '0;
    end
  end

  assign req_o = state_q == REQUEST;
  assign write_o = writes_q;

  always_comb begin
    for (int unsigned c = 0; c < Copies; c++) addr_o[c] = {addrs_q[c], 2'b0};
    for (int unsigned k = 0; k < 8; k++) mask_o[4*k+:4] = {4{strobes_q[k]}};
  end

  assign s_axil_o = '{
          awready: !aw_valid_q && !rst,  // what the reset would forget is not taken
          wready: !w_valid_q && !rst,
          bresp: '0,
          bvalid: state_q == RESPOND && write_q,
          arready: !ar_valid_q && !rst,
          rdata: read_data_q,
          rresp: '0,
          rvalid: state_q == RESPOND && !write_q
      };

  logic unused;
  assign unused = ^{s_axil_i.awprot, s_axil_i.arprot, addr[1:0]};

`ifndef SYNTHESIS
  always @(posedge clk) begin
    for (int unsigned c = 1; c < Copies; c++) begin
      assert (rst || !req_o || (addrs_q[c] == addrs_q[0] && writes_q[c] == write_q))
      else $error("%m: the copies of a request differ");
    end
  end
`endif

endmodule
