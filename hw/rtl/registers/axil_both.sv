// One bus for two sets of registers: both see every access, each answers with 0 what it does not have, and both go on together.
module axil_both
  import axi_pkg::*;
(
    // From the master
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    // To both sets; what they answer a write is the first one's
    output axil_request_t  [1:0] m_axil_o,
    input  axil_response_t [1:0] m_axil_i
);

  always_comb begin
    for (int unsigned k = 0; k < 2; k++) begin
      m_axil_o[k] = s_axil_i;
      m_axil_o[k].awvalid = s_axil_i.awvalid && m_axil_i[1-k].awready;
      m_axil_o[k].wvalid = s_axil_i.wvalid && m_axil_i[1-k].wready;
      m_axil_o[k].arvalid = s_axil_i.arvalid && m_axil_i[1-k].arready;
      m_axil_o[k].bready = s_axil_i.bready && m_axil_i[1-k].bvalid;
      m_axil_o[k].rready = s_axil_i.rready && m_axil_i[1-k].rvalid;
    end
  end

  assign s_axil_o = '{
          awready: m_axil_i[0].awready && m_axil_i[1].awready,
          wready: m_axil_i[0].wready && m_axil_i[1].wready,
          bresp: m_axil_i[0].bresp,
          bvalid: m_axil_i[0].bvalid && m_axil_i[1].bvalid,
          arready: m_axil_i[0].arready && m_axil_i[1].arready,
          rdata: m_axil_i[0].rdata | m_axil_i[1].rdata,
          rresp: m_axil_i[0].rresp,
          rvalid: m_axil_i[0].rvalid && m_axil_i[1].rvalid
      };

  logic unused;
  assign unused = ^{m_axil_i[1].bresp, m_axil_i[1].rresp};

endmodule
